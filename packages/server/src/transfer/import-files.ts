import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { BlobError, type BlobStore } from '../blobs/blob-store.js'
import { counted } from '../lib/counted.js'
import { isJsonObject } from '../lib/json.js'
import type { WorkOptions } from './digest.js'
import type { LineRow } from './lines.js'
import {
  type FileKeyOf,
  hashed,
  keyOfRow,
  type ListedFile,
  parseListedFile,
} from './listed-file.js'
import { type CompleteExport, changed, exportFiles, hashOf, linesPart, sizeOf } from './manifest.js'
import { readLineBatches } from './part-lines.js'
import { TransferError } from './transfer-error.js'

/** The store that the files of an export are imported into. */
export type FileTarget = Pick<BlobStore, 'kind' | 'put' | 'stat'>

/**
 * Stores the files of an export; those that are stored already are kept.
 * @throws TransferError
 */
export async function importFiles(
  { folder, manifest }: CompleteExport,
  files: FileTarget,
  { signal, progress }: WorkOptions,
): Promise<void> {
  const { count: total, store: from } = manifest.files
  let done = 0
  for await (const file of listedFiles(folder)) {
    signal?.throwIfAborted()
    const stored = await files.stat(file.key)
    if (from === 's3' ? stored === null : stored?.size !== file.size) {
      if (from === 's3')
        throw new TransferError(
          `the store of files does not have ${file.key}; set HERMOD_S3_ENDPOINT and the other settings to the store of the exported installation`,
        )
      await importFile(folder, files, file)
    }
    progress?.({ done: ++done, total, text: 'files of the service' })
  }
}

async function* listedFiles(folder: string): AsyncGenerator<ListedFile, void> {
  let number = 0
  for await (const { lines } of readLineBatches(folder, exportFiles.fileList))
    for (const line of lines) yield parseListedFile(line, ++number)
}

interface FileChecks extends WorkOptions {
  readonly fileKey: FileKeyOf
  /** Returns the application of a key, which a portable export must name. */
  readonly ownerOf: (key: string) => string | null
  /** Compares the hash of each file, too; an import does so when it stores the file. */
  readonly readsFiles: boolean
}

/**
 * Checks the list of files of an export: each is there with its size, of a row that names it, and
 * listed once.
 * @throws TransferError
 */
export async function verifyFiles(
  found: CompleteExport,
  { fileKey, ownerOf, ...options }: FileChecks,
): Promise<void> {
  const { folder, manifest } = found
  const { count: total, bytes } = manifest.files
  let [count, size] = [0, 0]
  const bad = (problem: string) =>
    new TransferError(
      `line ${count} of ${exportFiles.fileList} of the export has the key ${problem}; run hermod export again`,
    )
  // Both lists have one order, since an export makes the list from the rows.
  const keys = keysOfRows(found, fileKey)
  try {
    for await (const file of listedFiles(folder)) {
      options.signal?.throwIfAborted()
      count++
      size += file.size
      if (manifest.kind === 'portable' && !Object.hasOwn(manifest.apps, ownerOf(file.key) ?? ''))
        throw bad(`${file.key}, which is of no application of it`)
      if (manifest.files.store === 'folder') await requireWhole(folder, file, options)
      if (!(await readTo(keys, file.key)))
        throw bad(
          `${file.key}, which is listed twice, not in the order of ${linesPart('files')}, or of no line of it`,
        )
      options.progress?.({ done: count, total, text: 'checking the files of the service' })
    }
  } finally {
    await keys.return()
  }
  if (count !== total || size !== bytes)
    throw new TransferError(
      `${exportFiles.fileList} of the export in ${folder} has ${counted(count, 'file')} of ${counted(size, 'byte')}, and ${exportFiles.manifest} says ${total} of ${bytes}; copy the export again, or run hermod export again`,
    )
}

/** @throws TransferError for a file that is not in the folder as it is listed */
async function requireWhole(
  folder: string,
  { key, size, sha256 }: ListedFile,
  { signal, readsFiles }: Pick<FileChecks, 'signal' | 'readsFiles'>,
): Promise<void> {
  const name = `${exportFiles.files}/${key}`
  const isWhole =
    (await sizeOf(folder, name)) === size &&
    (!readsFiles || (await hashOf(folder, name, () => signal?.throwIfAborted())) === sha256)
  if (!isWhole) throw changed(folder, name)
}

/** Reads the keys of the files in the rows of an export. A line that is no row has none. */
async function* keysOfRows(
  { folder, manifest: { parts } }: CompleteExport,
  fileKey: FileKeyOf,
): AsyncGenerator<string, void> {
  const part = linesPart('files')
  if (!parts.some(({ name }) => name === part)) return
  for await (const { lines } of readLineBatches(folder, part))
    for (const line of lines) {
      const row = rowIn(line)
      if (row) yield keyOfRow(fileKey, row)
    }
}

/** @returns null for a line that is no object, which the reader of the rows refuses */
function rowIn(line: string): LineRow | null {
  try {
    const row: unknown = JSON.parse(line)
    return isJsonObject(row) ? (row as LineRow) : null
  } catch {
    return null
  }
}

/** Reads keys up to one of them. @returns false when it does not come */
async function readTo(keys: AsyncGenerator<string, void>, wanted: string): Promise<boolean> {
  for (;;) {
    const { done, value } = await keys.next()
    if (done || value === wanted) return !done
  }
}

async function importFile(
  folder: string,
  files: FileTarget,
  { key, size, content_type: contentType, sha256 }: ListedFile,
): Promise<void> {
  const name = `${exportFiles.files}/${key}`
  const hash = createHash('sha256')
  async function* body() {
    yield* hashed(createReadStream(join(folder, name)), hash)
    // The store keeps nothing of a body that fails.
    if (hash.digest('hex') !== sha256) throw changed(folder, name)
  }
  try {
    await files.put(key, Readable.from(body(), { objectMode: false }), {
      contentType,
      maxBytes: size,
    })
  } catch (error) {
    const isChanged = error instanceof BlobError && /^(?:cut|too_large)$/.test(error.reason)
    throw isChanged ? changed(folder, name) : error
  }
}
