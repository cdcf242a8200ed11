import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { AppError } from '@hermod/protocol'
import { BlobError, type BlobStore } from '../../../blobs/blob-store.js'
import type { Database, Queryable } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { stringifyJson } from '../../../lib/json.js'
import { makeFolder } from '../../../lib/system/make-folder.js'
import { syncFolder } from '../../../lib/system/sync-folder.js'
import { originalKey, type StoredFile } from '../../files/file-model.js'
import { type LongJobRun, type LongJobs, longJobKind } from '../../long-jobs/long-job-model.js'
import type { UserKey } from '../../users/user-model.js'
import type { ExportStore } from './export-store.js'
import { type ExportedTable, exportedTables } from './exported-tables.js'
import { readme } from './readme.js'

interface DataExportServiceOptions {
  readonly database: Database
  readonly store: ExportStore
  readonly files: {
    listOfOwner(
      db: Queryable,
      user: UserKey,
      page: { readonly after: string; readonly limit: number },
    ): Promise<StoredFile[]>
  }
  readonly blobs: Pick<BlobStore, 'open'>
  readonly jobs: Pick<LongJobs, 'start' | 'forget'>
  /** The folder of exports without a folder of their own. */
  readonly folder: string
  readonly clock: Clock
}

type ExportRun = Pick<LongJobRun, 'signal' | 'progress'>

/** An export as it is ordered. */
export interface DataExportOrder extends UserKey {
  /** An absolute path. */
  readonly folder: string
}

/** The result of an export. */
export type DataExportResult = {
  readonly folder: string
  /** The number of lines by table. */
  readonly rows: Readonly<Record<string, number>>
  readonly files: number
}

/** The job of an export. */
export const dataExport = longJobKind<DataExportOrder, DataExportResult>('user_data_export', {
  maxUnfinished: 4,
})

const rowsPerPage = 10_000
const filesPerPage = 100
const marker = 'COMPLETE'
/** Written first, with the user; it becomes the marker. */
const unfinished = 'INCOMPLETE'

/** Exports the data of persons to folders. */
export class DataExportService {
  /** Those that exports write into. */
  readonly #folders = new Set<string>()

  constructor(private readonly options: DataExportServiceOptions) {}

  /**
   * Starts the job of an export.
   * @param folder an absolute path; undefined: a new one
   * @returns the ID of the job
   * @throws AppError invalid_parameter, too_many_jobs
   */
  async start({ appId, userId }: UserKey, folder: string | undefined) {
    const { jobs, clock } = this.options
    if (folder !== undefined && !isAbsolute(folder))
      throw new AppError('invalid_parameter', 'folder must be an absolute path')
    const time = new Date(clock.now()).toISOString().replaceAll(/[-:]|\.\d+/g, '')
    const own = folder ?? join(this.options.folder, `${appId}-${userId}-${time}`)
    return jobs.start(dataExport, { appId, userId, folder: own })
  }

  /**
   * Removes the exports of a user in folders that the service has named, and the ended jobs, which
   * name all folders.
   */
  async removeOwn({ appId, userId }: UserKey): Promise<void> {
    const { folder, jobs } = this.options
    await jobs.forget(dataExport, (order) => order.appId === appId && order.userId === userId)
    const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw error
    })
    for (const name of names)
      if (name.replace(/-\d{8}T\d{6}Z$/, '') === `${appId}-${userId}`)
        await rm(join(folder, name), { recursive: true, force: true })
  }

  /**
   * Writes what there is of a person: a file of lines for each table, the files, a page that explains
   * them, and last the marker of a complete export. An export that was killed begins anew.
   * @throws Error when the folder has something else
   */
  async export(order: DataExportOrder, run: ExportRun): Promise<DataExportResult> {
    const folder = resolve(order.folder)
    if (this.#folders.has(folder)) throw new Error(`another export writes into ${folder}`)
    this.#folders.add(folder)
    try {
      return await this.#exportTo(folder, order, run)
    } finally {
      this.#folders.delete(folder)
    }
  }

  async #exportTo(
    folder: string,
    { appId, userId }: UserKey,
    { signal, progress }: ExportRun,
  ): Promise<DataExportResult> {
    const { database, store, clock } = this.options
    const user = { appId, userId }
    await openFolder(folder, `${appId} ${userId}\n`)
    const rows: Record<string, number> = {}
    await database.snapshot(async (db) => {
      const profile = await store.profile(db, user)
      await appendSynced(join(folder, 'users.ndjson'), `${stringifyJson(profile)}\n`)
      for (const table of exportedTables) {
        progress({ text: `exporting ${table.table}` })
        rows[table.table] = await this.#exportRows(db, user, table, { folder, signal })
      }
    })
    const files = await this.#exportFiles(user, folder, { signal, progress })
    const about = { appId, userId, rows, files, at: clock.now() }
    await appendSynced(join(folder, 'README.txt'), readme(about))
    await rename(join(folder, unfinished), join(folder, marker))
    await syncFolder(folder)
    return { folder, rows, files }
  }

  /** @returns the number of lines; a table without any has no file */
  async #exportRows(
    db: Queryable,
    user: UserKey,
    table: ExportedTable,
    { folder, signal }: { readonly folder: string; readonly signal: AbortSignal },
  ): Promise<number> {
    for (let count = 0; ; ) {
      signal.throwIfAborted()
      const range = { offset: count, limit: rowsPerPage }
      const page = await this.options.store.list(db, user, table, range)
      if (page.length > 0)
        await appendSynced(
          join(folder, `${table.table}.ndjson`),
          page.map((row) => `${stringifyJson(row)}\n`).join(''),
        )
      count += page.length
      if (page.length < rowsPerPage) return count
    }
  }

  async #exportFiles(
    user: UserKey,
    folder: string,
    { signal, progress }: ExportRun,
  ): Promise<number> {
    const { database, files, blobs } = this.options
    let count = 0
    for (let after = ''; ; ) {
      const start = after
      const page: StoredFile[] = await database.snapshot((db) =>
        files.listOfOwner(db, user, { after: start, limit: filesPerPage }),
      )
      for (const file of page) {
        signal.throwIfAborted()
        progress({ text: `exporting file ${count + 1}` })
        const path = join(folder, 'files', file.fileId)
        const { size, crc32 } = file
        const expected = { size, ...(crc32 !== null && { crc32 }) }
        const bytes = await blobs.open(originalKey(file), { expected }).catch((error: unknown) => {
          if (error instanceof BlobError && error.reason === 'not_found') return null
          throw error
        })
        if (!bytes) continue
        await pipeline(bytes, createWriteStream(path, { mode: 0o600, flush: true }), { signal })
        count++
      }
      after = page.at(-1)?.fileId ?? ''
      if (page.length < filesPerPage) return count
    }
  }
}

/** Makes the folder, and empties what a killed export of the same user has left. */
async function openFolder(folder: string, owner: string): Promise<void> {
  const entries = await entriesOf(folder)
  const path = join(folder, unfinished)
  const noted = entries.includes(unfinished) ? await readFile(path, 'utf8') : ''
  // A crash may have cut it while it was alone.
  const isCut = entries.every((name) => name === unfinished) && owner.startsWith(noted)
  if (noted !== owner && !isCut)
    throw new Error(
      `${folder} is not empty; give a folder that does not exist yet, or an empty one`,
    )
  await writeFile(path, owner, { mode: 0o600, flush: true })
  for (const name of entries)
    if (name !== unfinished) await rm(join(folder, name), { recursive: true })
  await mkdir(join(folder, 'files'), { mode: 0o700 })
}

async function entriesOf(folder: string): Promise<string[]> {
  try {
    await makeFolder(folder)
    return await readdir(folder)
  } catch (cause) {
    const { message } = cause as Error
    throw new Error(`${folder} cannot be used: ${message}; give another folder`, { cause })
  }
}

/** Appends to a file; the text is on the disk when this resolves. */
async function appendSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'a', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}
