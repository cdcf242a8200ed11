/** The folder of an export, and its description (decision page 079). */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type Check, isCount, isMapOf, isName, isOneOf, parseFile } from '../lib/json-file.js'
import { isKeyId } from '../lib/secrets/secret-keys.js'
import { maxManifestBytes, readSmallFile, sizeOfFile } from '../lib/system/regular-file.js'
import { syncFolder } from '../lib/system/sync-folder.js'
import type { Digest, WorkOptions } from './digest.js'
import type { ExportKind } from './lines.js'
import {
  areFilesOf,
  arePartsNamed,
  dataFields,
  type DescribedData,
  type DescribedFiles,
  isDigest,
  type ManifestPart,
} from './manifest-fields.js'
import { TransferError } from './transfer-error.js'

/** The newest format that this version reads. */
const format = 1

/** The names in the folder of an export. */
export const exportFiles = {
  manifest: 'manifest.json',
  /** The hash of the manifest; written last. */
  complete: 'COMPLETE',
  /** The folder of the lines. */
  lines: 'lines',
  /** The folder of the files of the service, by their keys. */
  files: 'files',
  /** One line for each file of the service. */
  fileList: 'files.ndjson',
} as const

/** Counts of credentials and settings of an application that a portable export leaves out. */
export type LeftBehind = Readonly<Record<string, number>>

/** Contents of manifest.json. */
export interface ExportManifest extends DescribedData {
  readonly format: typeof format
  readonly kind: ExportKind
  /**
   * The applications of a portable export, each with what it has in the exported installation and
   * not in the export; none in others.
   */
  readonly apps: Readonly<Record<string, LeftBehind>>
  /**
   * The data is that of a backup, of a standby or of a restore that is not finished: the
   * installation may have gone on since.
   */
  readonly is_copy: boolean
  /** The ID of the key that the secrets need; '' in a portable export, which has none. */
  readonly secret_key_fingerprint: string
  /** Every ID that was issued is below the first one of this tick of the clock of IDs. */
  readonly ids_reserved_until: number
  readonly parts: readonly ManifestPart[]
  readonly digest: Digest
  readonly files: DescribedFiles<'folder' | 's3'>
  /** The counts of dropped work that was not delivered, by its description. */
  readonly dropped: Readonly<Record<string, number>>
}

const partName = /^(?:files|lines\/[a-z][a-z0-9_]*)\.ndjson$/

/** Every part is verified before it is read, so the list of files is one of them. */
const areParts: Check = (value) =>
  arePartsNamed(partName)(value) &&
  (value as readonly ManifestPart[]).some(({ name }) => name === exportFiles.fileList)

const fields: Readonly<Record<keyof ExportManifest, Check>> = {
  format: isOneOf(format),
  kind: isOneOf('move', 'portable'),
  apps: isMapOf(isMapOf(isCount)),
  ...dataFields,
  is_copy: isOneOf(true, false),
  secret_key_fingerprint: (value) => value === '' || isKeyId(value),
  ids_reserved_until: isCount,
  parts: areParts,
  digest: isDigest,
  files: areFilesOf('folder', 's3'),
  dropped: isMapOf(isCount),
}

/** An export that is complete. */
export interface CompleteExport {
  readonly folder: string
  readonly manifest: ExportManifest
  /** The hash of the manifest, which names the export. */
  readonly id: string
}

/** The path of the lines of a type in the folder of an export. */
export function linesPart(type: string): string {
  return `${exportFiles.lines}/${type}.ndjson`
}

/** Writes the manifest, and after it the mark that the export is complete; both are durable. */
export async function completeExport(folder: string, manifest: ExportManifest): Promise<void> {
  const text = `${JSON.stringify(manifest, null, 2)}\n`
  if (Buffer.byteLength(text) > maxManifestBytes)
    throw new TransferError(
      'the export has too many applications for one manifest; export them in several folders with --app',
    )
  await writeDurably(folder, exportFiles.manifest, text)
  await writeDurably(folder, exportFiles.complete, `${sha256Of(text)}\n`)
}

/**
 * Reads the manifest of an export.
 * @throws TransferError for a folder that is no complete export, one of a newer version, or one with
 * a bad manifest
 */
export async function readExport(folder: string): Promise<CompleteExport> {
  const mark = await readOptional(folder, exportFiles.complete)
  const text = await readOptional(folder, exportFiles.manifest)
  if (mark === null || text === null)
    throw new TransferError(
      `${folder} has no complete export (${exportFiles.complete} or ${exportFiles.manifest} is missing); name the folder that hermod export has written, or run hermod export again`,
    )
  const id = sha256Of(text)
  if (mark.trim() !== id) throw changed(folder, exportFiles.manifest)
  const manifest = parseFile<ExportManifest>(text, {
    fields,
    bad: (problem) =>
      new TransferError(
        `${exportFiles.manifest} of the export in ${folder} ${problem}; run hermod export again`,
      ),
    refuse: (file) =>
      Number(file.format) > format
        ? new TransferError(
            `the export in ${folder} was made ${isName(file.version) ? `by Hermod ${file.version} ` : ''}in a newer format; import it with that version or a later one`,
          )
        : null,
  })
  return { folder, manifest, id }
}

/** Compares every part with the manifest. @throws TransferError for one that is missing or changed */
export async function verifyParts(
  { folder, manifest: { parts } }: CompleteExport,
  { signal, progress }: WorkOptions,
): Promise<void> {
  const total = parts.reduce((sum, { size }) => sum + size, 0)
  let done = 0
  for (const { name, size, sha256 } of parts) {
    if ((await sizeOf(folder, name)) !== size) throw changed(folder, name)
    const found = await hashOf(folder, name, (bytes) => {
      signal?.throwIfAborted()
      done += bytes
      progress?.({ done, total, text: `checking ${name}` })
    })
    if (found !== sha256) throw changed(folder, name)
  }
}

/** Returns the SHA-256 of a file of an export. @param read gets the number of bytes of each chunk */
export async function hashOf(
  folder: string,
  name: string,
  read: (bytes: number) => void,
): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(join(folder, name), { highWaterMark: 2 ** 20 })) {
    read(chunk.length)
    hash.update(chunk)
  }
  return hash.digest('hex')
}

/** Says that a file of an export is not as it was written. */
export function changed(folder: string, name: string): TransferError {
  return new TransferError(
    `${name} of the export in ${folder} is missing, cut off or changed since it was written; copy the export again, or run hermod export again`,
  )
}

/** Writes a file in a folder of an export, and computes its size and hash. */
export class PartWriter {
  readonly #hash = createHash('sha256')
  #size = 0

  private constructor(
    private readonly name: string,
    private readonly handle: Awaited<ReturnType<typeof open>>,
  ) {}

  static async open(folder: string, name: string): Promise<PartWriter> {
    return new PartWriter(name, await open(join(folder, name), 'w', 0o600))
  }

  async write(lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return
    const bytes = Buffer.from(`${lines.join('\n')}\n`)
    this.#hash.update(bytes)
    this.#size += bytes.length
    await this.handle.writeFile(bytes)
  }

  /** Makes the file durable. */
  async end(): Promise<ManifestPart> {
    await this.handle.sync()
    await this.handle.close()
    return { name: this.name, size: this.#size, sha256: this.#hash.digest('hex') }
  }

  /** Closes the file after a failure. */
  async abandon(): Promise<void> {
    await this.handle.close().catch(() => {})
  }
}

async function writeDurably(folder: string, name: string, text: string): Promise<void> {
  const path = join(folder, name)
  const handle = await open(`${path}.new`, 'w', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${path}.new`, path)
  await syncFolder(folder)
}

const badFile = (folder: string, name: string) => (problem: string) =>
  new TransferError(`${name} of the export in ${folder} ${problem}; run hermod export again`)

/** @returns null for a missing file */
async function readOptional(folder: string, name: string): Promise<string | null> {
  return orMissing(async () =>
    (await readSmallFile(join(folder, name), badFile(folder, name))).toString('utf8'),
  )
}

/**
 * Returns the size of a file of an export; null for a missing one.
 * @throws TransferError for a FIFO and the like
 */
export function sizeOf(folder: string, name: string): Promise<number | null> {
  return orMissing(() => sizeOfFile(join(folder, name), badFile(folder, name)))
}

async function orMissing<T>(read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
