import { systemUserId } from '@hermod/protocol'
import { camelCase, camelCaseText, columnsOf, convert, type TableRow } from '../../db/columns.js'
import type { Database, PreparedPage, Queryable, Tx } from '../../db/database.js'
import type { BulkDelete, BulkSelect } from '../../db/dialect/dialect.js'
import { sql } from '../../db/kysely.js'
import { filesTable } from '../../db/schema.js'
import { paddedForPlanCache } from '../../lib/chunks.js'
import type { UserKey } from '../users/user-model.js'
import { type FileKey, fileRecipientOf, type StoredFile } from './file-model.js'
import { fileRow, insertFiles } from './file-statements.js'

/** A place in the order in which the files of an app were stored. */
export interface FileSortKey {
  /** Milliseconds since 1970. */
  readonly createdAt: number
  readonly fileId: string
}

/** A file and its place. */
export interface SortedFile extends FileSortKey {
  /** True when a message, an avatar or a shared file refers to it. */
  readonly isReferenced: boolean
}

type FileRow = TableRow<typeof filesTable>

const allColumns = camelCase(filesTable)
const fileKeys = columnsOf(filesTable, 'app_id', 'file_id')
const findFiles: BulkSelect = {
  table: 'files',
  keys: fileKeys,
  columns: camelCaseText(['file_id', 'upload_id'], 't'),
}
const deleteFiles: BulkDelete = {
  deleteFrom: 'files',
  keys: fileKeys,
}

const isReferenced = sql<number>`case when exists (select 1 from file_references r where r.app_id = files.app_id and r.file_id = files.file_id) then 1 else 0 end`

/** The files that are complete in the store. */
export class FileStore {
  readonly #database: Database
  readonly #find
  readonly #oldest: PreparedPage<
    { appId: string; before: number; createdAt: number; fileId: string },
    { createdAt: number; fileId: string; isReferenced: number }
  >
  readonly #newest: PreparedPage<{ appId: string; createdAt: number; fileId: string }, FileRow>

  constructor(database: Database) {
    this.#database = database
    this.#find = database.prepared<FileKey, FileRow>((db, param) =>
      db
        .selectFrom('files')
        .select(allColumns)
        .where('app_id', '=', param('appId'))
        .where('file_id', '=', param('fileId')),
    )
    this.#oldest = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('files')
        .select(camelCase(['created_at', 'file_id']))
        .select(isReferenced.as('isReferenced'))
        .where('app_id', '=', param('appId'))
        .where('created_at', '<', param('before'))
        .where(sql<boolean>`(created_at, file_id) > (${param('createdAt')}, ${param('fileId')})`)
        .orderBy('created_at')
        .orderBy('file_id')
        .limit(limit),
    )
    this.#newest = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('files')
        .select(allColumns)
        .where('app_id', '=', param('appId'))
        .where(sql<boolean>`(created_at, file_id) < (${param('createdAt')}, ${param('fileId')})`)
        .orderBy('created_at', 'desc')
        .orderBy('file_id', 'desc')
        .limit(limit),
    )
  }

  /** @returns null also for a file whose removal is pending */
  async find(db: Queryable, { appId, fileId }: FileKey): Promise<StoredFile | null> {
    const row = await this.#find.first(db, { appId, fileId })
    return row?.removalId === '' ? toStoredFile(row) : null
  }

  /** Finds a file even while its removal is pending. */
  async findWithPendingRemoval(
    db: Queryable,
    { appId, fileId }: FileKey,
  ): Promise<StoredFile | null> {
    const row = await this.#find.first(db, { appId, fileId })
    return row ? toStoredFile(row) : null
  }

  /** Finds the upload IDs of existing files, by file ID. */
  async findUploads(db: Queryable, keys: readonly FileKey[]): Promise<Map<string, string>> {
    const rows = await this.#database.bulk<{ fileId: string; uploadId: string }>(
      db,
      findFiles,
      keys.map(({ appId, fileId }) => [appId, fileId]),
    )
    return new Map(rows.map((row) => [row.fileId, row.uploadId]))
  }

  /**
   * Marks the unreferenced ones of the files for a removal, also those that belong to another removal.
   * @param fileIds at least one
   */
  async markUnreferenced(
    tx: Tx,
    appId: string,
    fileIds: readonly string[],
    removalId: string,
  ): Promise<void> {
    await tx
      .updateTable('files')
      .set({ removal_id: removalId })
      .where('app_id', '=', appId)
      .where('file_id', 'in', paddedForPlanCache(fileIds))
      .where(isReferenced, '=', 0)
      .execute()
  }

  /** Finds the unreferenced ones of the files that belong to the removal. @param fileIds at least one */
  async findUnreferenced(
    tx: Tx,
    appId: string,
    fileIds: readonly string[],
    removalId: string,
  ): Promise<StoredFile[]> {
    const rows = await tx
      .selectFrom('files')
      .select(allColumns)
      .where('app_id', '=', appId)
      .where('file_id', 'in', paddedForPlanCache(fileIds))
      .where('removal_id', '=', removalId)
      .where(isReferenced, '=', 0)
      .execute()
    return rows.map(toStoredFile)
  }

  /** Makes the files of the removal available again. @param fileIds at least one */
  async unmark(
    tx: Tx,
    appId: string,
    fileIds: readonly string[],
    removalId: string,
  ): Promise<void> {
    await tx
      .updateTable('files')
      .set({ removal_id: '' })
      .where('app_id', '=', appId)
      .where('file_id', 'in', paddedForPlanCache(fileIds))
      .where('removal_id', '=', removalId)
      .execute()
  }

  /** Lists at most `limit` files of any app whose removal is pending. */
  async listPendingRemovals(
    db: Queryable,
    limit: number,
  ): Promise<(FileKey & { readonly removalId: string })[]> {
    return (
      db
        .selectFrom('files')
        .select(camelCase(['app_id', 'file_id', 'removal_id']))
        // The same expression as in the partial index of these files.
        .where(sql<boolean>`removal_id <> ''`)
        .orderBy('app_id')
        .orderBy('file_id')
        .limit(sql.lit(limit))
        .execute()
    )
  }

  /**
   * Lists at most `limit` files that were stored before an instant, the oldest first, after a
   * place.
   * @param after null: from the first
   */
  async listOldest(
    db: Queryable,
    appId: string,
    { after, ...page }: { after: FileSortKey | null; before: number; limit: number },
  ): Promise<SortedFile[]> {
    const { createdAt, fileId } = after ?? { createdAt: -1, fileId: '' }
    const rows = await this.#oldest.all(db, { ...page, appId, createdAt, fileId })
    return rows.map((row) => convert(row, { isReferenced: row.isReferenced === 1 }))
  }

  /** Lists at most `limit` files, the newest first, before a place. @param before null: from the last */
  async listNewest(
    db: Queryable,
    appId: string,
    { before, limit }: { before: FileSortKey | null; limit: number },
  ): Promise<StoredFile[]> {
    const { createdAt, fileId } = before ?? { createdAt: Number.MAX_SAFE_INTEGER, fileId: '' }
    const rows = await this.#newest.all(db, { appId, createdAt, fileId, limit })
    return rows.map(toStoredFile)
  }

  /** Lists at most `limit` files in the order of their IDs, after one. @param after "": from the first */
  async listById(
    db: Queryable,
    appId: string,
    { after, limit }: { after: string; limit: number },
  ): Promise<StoredFile[]> {
    const rows = await db
      .selectFrom('files')
      .select(allColumns)
      .where('app_id', '=', appId)
      .where('file_id', '>', after)
      .orderBy('file_id')
      .limit(sql.lit(limit))
      .execute()
    return rows.map(toStoredFile)
  }

  /**
   * Lists files of an owner in the order of their IDs, after one. No index serves it: read it in a
   * snapshot.
   * @param page.after "": from the first
   */
  async listOfOwner(
    db: Queryable,
    { appId, userId }: UserKey,
    { after, limit }: { readonly after: string; readonly limit: number },
  ): Promise<StoredFile[]> {
    const rows = await db
      .selectFrom('files')
      .select(allColumns)
      .where('app_id', '=', appId)
      .where('owner_id', '=', userId)
      .where('file_id', '>', after)
      .orderBy('file_id')
      .limit(limit)
      .execute()
    return rows.map(toStoredFile)
  }

  /** Finds files even while their removal is pending. @param fileIds at least one */
  async findMany(tx: Tx, appId: string, fileIds: readonly string[]): Promise<StoredFile[]> {
    const rows = await tx
      .selectFrom('files')
      .select(allColumns)
      .where('app_id', '=', appId)
      .where('file_id', 'in', paddedForPlanCache(fileIds))
      .execute()
    return rows.map(toStoredFile)
  }

  /** Makes the system the owner of files, without the names that the owners gave. */
  async disown(tx: Tx, appId: string, fileIds: readonly string[]): Promise<void> {
    await tx
      .updateTable('files')
      .set({ owner_id: systemUserId, name: '' })
      .where('app_id', '=', appId)
      .where('file_id', 'in', paddedForPlanCache(fileIds))
      .execute()
  }

  /** Lists at most `limit` files of all apps in the order of apps and IDs, after a place. */
  async listAll(
    db: Queryable,
    after: FileKey | null,
    limit: number,
  ): Promise<Pick<StoredFile, 'appId' | 'fileId' | 'uploadId' | 'size'>[]> {
    const { appId, fileId } = after ?? { appId: '', fileId: '' }
    return db
      .selectFrom('files')
      .select(camelCase(['app_id', 'file_id', 'upload_id', 'size']))
      .where(sql<boolean>`(app_id, file_id) > (${appId}, ${fileId})`)
      .orderBy('app_id')
      .orderBy('file_id')
      .limit(sql.lit(limit))
      .execute()
  }

  async deleteMany(tx: Tx, keys: readonly FileKey[]): Promise<void> {
    const rows = keys.map(({ appId, fileId }) => [appId, fileId])
    await this.#database.bulk(tx, deleteFiles, rows)
  }

  /** @returns the upload IDs of the stored files; the file IDs of the others are taken */
  async insertMany(tx: Tx, files: readonly StoredFile[]): Promise<Set<string>> {
    const rows = await this.#database.bulk<{ upload_id: string }>(
      tx,
      insertFiles,
      files.map((file) => fileRow(file)),
    )
    return new Set(rows.map((row) => row.upload_id))
  }
}

function toStoredFile(row: FileRow): StoredFile {
  return convert(row, { recipient: fileRecipientOf(row.toType, row.toId) })
}
