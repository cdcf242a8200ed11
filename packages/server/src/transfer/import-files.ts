import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { BlobError, type BlobStore } from '../blobs/blob-store.js'
import { counted } from '../lib/counted.js'
import type { WorkOptions } from './digest.js'
import { hashed } from './export.js'
import { type ListedFile, parseListedFile } from './listed-file.js'
import { type CompleteExport, changed, exportFiles, sizeOf } from './manifest.js'
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

/**
 * Checks the list of files of an export, and that each of them is there with its size.
 * @param options.ownerOf returns the application of a key, which a portable export must name
 * @throws TransferError
 */
export async function verifyFiles(
  { folder, manifest }: CompleteExport,
  { signal, progress, ownerOf }: WorkOptions & { readonly ownerOf: (key: string) => string | null },
): Promise<void> {
  const { store, count: total, bytes } = manifest.files
  const found = { count: 0, bytes: 0 }
  for await (const { key, size } of listedFiles(folder)) {
    signal?.throwIfAborted()
    found.count++
    found.bytes += size
    if (manifest.kind === 'portable' && !Object.hasOwn(manifest.apps, ownerOf(key) ?? ''))
      throw new TransferError(
        `line ${found.count} of ${exportFiles.fileList} of the export has the key ${key}, which is of no application of it; run hermod export again`,
      )
    const name = `${exportFiles.files}/${key}`
    if (store === 'folder' && (await sizeOf(folder, name)) !== size) throw changed(folder, name)
    progress?.({ done: found.count, total, text: 'checking the files of the service' })
  }
  if (found.count !== total || found.bytes !== bytes)
    throw new TransferError(
      `${exportFiles.fileList} of the export in ${folder} has ${counted(found.count, 'file')} of ${counted(found.bytes, 'byte')}, and ${exportFiles.manifest} says ${total} of ${bytes}; copy the export again, or run hermod export again`,
    )
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
