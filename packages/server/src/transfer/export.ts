import { createHash } from 'node:crypto'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { BlobError, type BlobStore } from '../blobs/blob-store.js'
import type { Queryable } from '../db/database.js'
import { sql } from '../db/kysely.js'
import { makeFolder } from '../lib/system/make-folder.js'
import { syncFolder } from '../lib/system/sync-folder.js'
import { type Digest, forEachPage, LineSum, rowsOf, type WorkOptions } from './digest.js'
import { type LineRow, type LineScope, lineOf } from './lines.js'
import { type FileKeyOf, hashed, keyOfRow, type ListedFile } from './listed-file.js'
import {
  completeExport,
  type ExportManifest,
  exportFiles,
  linesPart,
  PartWriter,
} from './manifest.js'
import type { ManifestPart } from './manifest-fields.js'
import { readLineBatches } from './part-lines.js'
import { TransferError } from './transfer-error.js'
import { findUndelivered, findUnfinishedChanges, type Undelivered } from './undelivered.js'

/** The installation that is exported. */
export interface ExportSource extends Pick<ExportManifest, 'version' | 'schema' | 'engine'> {
  /** Runs reads on one state of the data, with the plan of its export. @throws TransferError */
  readonly snapshot: <T>(read: (db: Queryable, plan: ExportPlan) => Promise<T>) => Promise<T>
  /** Opens its store of files, if it has any. */
  readonly openFiles: () => Promise<StoredFiles>
  readonly fileKey: FileKeyOf
  /** The kinds of jobs that change no row of the export. */
  readonly droppableJobs: readonly string[]
}

/** The rows of an export, and what its manifest says of them. */
export interface ExportPlan {
  readonly described: Pick<ExportManifest, 'kind' | 'apps' | 'secret_key_fingerprint' | 'is_copy'>
  readonly scope: LineScope
}

type StoredFiles = Pick<BlobStore, 'kind' | 'open' | 'stat'>
/** The files of the service in the folder of an export. */
type ExportedFiles = Pick<BlobStore, 'put' | 'stat' | 'open'>

/** The destination of an export. */
export interface ExportTarget {
  readonly folder: string
  /** Opens the store of the files in the folder of the export, which is made by then. */
  readonly openFiles: () => Promise<ExportedFiles>
  /** Leaves out what is not delivered. */
  readonly dropsUndelivered: boolean
}

/** The result of an export. */
export interface ExportReport {
  readonly folder: string
  readonly rows: number
  readonly files: ExportManifest['files']
  readonly dropped: readonly Undelivered[]
}

/**
 * Prepares a folder for an export: a new or empty one, or one with an export that did not end, of
 * which the files of the service are kept.
 * @throws TransferError for any other folder
 */
async function prepareFolder(folder: string): Promise<void> {
  await makeFolder(join(folder, exportFiles.files))
  const names = await readdir(folder)
  if (names.includes(exportFiles.complete))
    throw new TransferError(
      `${folder} has a complete export already; name another folder with --to, or remove it`,
    )
  const { manifest, fileList, files, lines } = exportFiles
  const known = [manifest, `${manifest}.new`, `${exportFiles.complete}.new`, fileList, files, lines]
  const foreign = names.find((name) => !known.includes(name))
  if (foreign !== undefined)
    throw new TransferError(
      `${folder} has other files, such as ${foreign}; name another folder with --to`,
    )
  await rm(join(folder, lines), { recursive: true, force: true })
  await mkdir(join(folder, lines), { mode: 0o700 })
}

/**
 * Exports an installation, or applications of it. After a kill the same call begins anew, and keeps
 * the files of the service that are copied already.
 * @throws TransferError
 */
export async function exportInstallation(
  source: ExportSource,
  { folder, openFiles, dropsUndelivered }: ExportTarget,
  options: WorkOptions,
): Promise<ExportReport> {
  const { version, schema, engine } = source
  const { dropped, parts, ...data } = await source.snapshot(async (db, { described, scope }) => {
    const changes = await findUnfinishedChanges(db, source.droppableJobs, scope.apps)
    if (changes.length > 0) throw unfinishedError(changes)
    // A portable export is a copy of data: what is not delivered stays where it is, and is delivered.
    const dropped = described.kind === 'move' ? await findUndelivered(db) : []
    if (dropped.length > 0 && !dropsUndelivered) throw undeliveredError(dropped)
    await prepareFolder(folder)
    return {
      dropped,
      epoch: await epochOf(db),
      ...described,
      ids_reserved_until: await idsReservedUntil(db),
      ...(await writeLines(db, folder, { ...options, scope })),
    }
  })
  // A snapshot would end while large files are copied.
  const from = data.digest.files ? await source.openFiles() : null
  const { list, files } = await writeFiles(folder, {
    ...{ from, to: await openFiles(), fileKey: source.fileKey },
    // Two installations do not share a store.
    mayStay: data.kind === 'move',
    ...options,
  })
  await syncFolder(join(folder, exportFiles.lines))
  await completeExport(folder, {
    format: 1,
    created_at: new Date().toISOString(),
    ...{ version, schema, engine },
    ...data,
    parts: [...parts, list],
    files,
    dropped: Object.fromEntries(dropped.map(({ what, count }) => [what, count])),
  })
  return { folder, rows: rowsOf(data.digest), files, dropped }
}

function unfinishedError(kinds: readonly string[]): TransferError {
  return new TransferError(
    `jobs that change the exported data are not done (${kinds.join(', ')}); an export has no jobs, so what they remove would stay in it; run the service with hermod maintenance on until they are done, or for a backup restore it and run hermod restore finish first`,
  )
}

function undeliveredError(dropped: readonly Undelivered[]): TransferError {
  const list = dropped.map(({ what, count }) => `${what} (${count})`).join('; ')
  return new TransferError(
    `not everything is delivered, and an export has no events and jobs: ${list}; run the service with hermod maintenance on until they are done, or give --drop-undelivered to leave them out`,
  )
}

async function writeLines(
  db: Queryable,
  folder: string,
  options: WorkOptions & { readonly scope: LineScope },
): Promise<{ readonly digest: Digest; readonly parts: readonly ManifestPart[] }> {
  const digest: Record<string, Digest[string]> = {}
  const parts: ManifestPart[] = []
  await forEachPage(db, options, async (type, pages) => {
    const sum = new LineSum()
    const part = await PartWriter.open(folder, linesPart(type.name))
    try {
      for await (const page of pages) {
        const lines = page.map((row) => lineOf(type, row, options.scope.textOf))
        for (const line of lines) sum.add(line)
        await part.write(lines)
      }
      parts.push(await part.end())
    } catch (error) {
      await part.abandon()
      throw error
    }
    if (sum.digest.count > 0) digest[type.name] = sum.digest
  })
  return { digest, parts }
}

interface FileCopy extends Pick<ExportSource, 'fileKey'> {
  /** null: there are no files */
  readonly from: StoredFiles | null
  readonly to: ExportedFiles
  /** Files in S3 are not copied. */
  readonly mayStay: boolean
}

/** Copies the files that the lines of the export name. */
async function writeFiles(
  folder: string,
  { signal, progress, ...copy }: WorkOptions & FileCopy,
): Promise<{ readonly list: ManifestPart; readonly files: ExportManifest['files'] }> {
  const counts = { count: 0, bytes: 0, missing: 0 }
  const part = await PartWriter.open(folder, exportFiles.fileList)
  try {
    for await (const { lines } of readLineBatches(folder, linesPart('files')))
      for (const line of lines) {
        signal?.throwIfAborted()
        const listed = await exportFile(copy, JSON.parse(line))
        if (!listed) {
          counts.missing++
          continue
        }
        await part.write([JSON.stringify(listed)])
        counts.count++
        counts.bytes += listed.size
        progress?.({ done: counts.count, total: 0, text: 'files of the service' })
      }
    const store = copy.mayStay && copy.from?.kind === 's3' ? 's3' : 'folder'
    return { list: await part.end(), files: { store, ...counts } }
  } catch (error) {
    await part.abandon()
    throw error
  }
}

/** Copies a file of the service. @returns null when the store does not have it as it was stored */
async function exportFile(
  { from, to, fileKey, mayStay }: FileCopy,
  row: LineRow,
): Promise<ListedFile | null> {
  const key = keyOfRow(fileKey, row)
  const size = Number(row.size)
  const listed = { key, size, content_type: String(row.content_type), sha256: '' }
  if (mayStay && from?.kind === 's3') return (await from.stat(key)) === null ? null : listed
  const hash = createHash('sha256')
  try {
    if ((await to.stat(key))?.size === size)
      for await (const chunk of await to.open(key)) hash.update(chunk)
    else {
      if (!from) return null
      const bytes = hashed(await from.open(key, { expected: { size } }), hash)
      const body = Readable.from(bytes, { objectMode: false })
      await to.put(key, body, { contentType: '', maxBytes: size })
    }
  } catch (error) {
    if (error instanceof BlobError && /^(?:not_found|damaged)$/.test(error.reason)) return null
    throw error
  }
  return { ...listed, sha256: hash.digest('hex') }
}

async function epochOf(db: Queryable): Promise<string> {
  const row = await db.selectFrom('database_identity').select('epoch').executeTakeFirstOrThrow()
  return row.epoch
}

async function idsReservedUntil(db: Queryable): Promise<number> {
  const { rows } = await sql<{ until: number | null }>`
    select max(reserved_until) as until from id_slots`.execute(db)
  return Number(rows[0]?.until ?? 0)
}
