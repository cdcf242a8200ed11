import { fileReferenceKind, type Int64 } from '@hermod/protocol'
import { camelCase, camelCaseText } from '../../db/columns.js'
import type { Database, PreparedPage, Queryable, Tx } from '../../db/database.js'
import type { BulkDelete, BulkInsert, BulkSelect } from '../../db/dialect/dialect.js'
import { sql } from '../../db/kysely.js'
import { rowOf } from '../../db/rows.js'
import { fileReferencesTable } from '../../db/schema.js'
import type { FileKey } from './file-model.js'
import type { FileReference, FileReferrer } from './references/reference-model.js'

const columns = camelCase(fileReferencesTable)
const { file_id: _, ...referrerColumns } = fileReferencesTable

const insertReferences: BulkInsert = {
  table: 'file_references',
  columns: fileReferencesTable,
  conflict: 'on conflict do nothing',
}
const deleteReferences: BulkDelete = {
  deleteFrom: 'file_references',
  keys: fileReferencesTable,
}
const findOfReferrers: BulkSelect = {
  table: 'file_references',
  keys: referrerColumns,
  columns: camelCaseText(fileReferencesTable),
}

const referenceRow = rowOf(fileReferencesTable)
const referrerRow = rowOf(referrerColumns)

/** The recorded references to files. */
export class FileReferenceStore {
  readonly #page: PreparedPage<FileReference, FileReference>

  constructor(private readonly database: Database) {
    this.#page = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('file_references')
        .select(columns)
        .where('app_id', '=', param('appId'))
        .where(
          sql<boolean>`(file_id, kind, low_id, high_id, item_id) > (${param('fileId')}, ${param('kind')}, ${param('lowId')}, ${param('highId')}, ${param('itemId')})`,
        )
        .orderBy('file_id')
        .orderBy('kind')
        .orderBy('low_id')
        .orderBy('high_id')
        .orderBy('item_id')
        .limit(limit),
    )
  }

  /** Inserts references; existing ones stay. */
  async insertMany(tx: Tx, references: readonly FileReference[]): Promise<void> {
    await this.database.bulk(tx, insertReferences, references.map(referenceRow))
  }

  /** Deletes references; a missing one is no failure. */
  async deleteMany(tx: Tx, references: readonly FileReference[]): Promise<void> {
    await this.database.bulk(tx, deleteReferences, references.map(referenceRow))
  }

  /** Finds all references of the referrers, in no particular order. */
  async findOf(
    db: Queryable,
    appId: string,
    referrers: readonly FileReferrer[],
  ): Promise<FileReference[]> {
    const keys = referrers.map((referrer) => referrerRow({ ...referrer, appId }))
    return this.database.bulk<FileReference>(db, findOfReferrers, keys)
  }

  /**
   * Lists at most `limit` references by file and referrer, after a reference.
   * @param after null: from the first
   */
  async list(
    db: Queryable,
    appId: string,
    after: FileReference | null,
    limit: number,
  ): Promise<FileReference[]> {
    return this.#page.all(db, { ...(after ?? first), appId, limit })
  }

  /** Lists at most `limit` references to one file. */
  async listOfFile(db: Queryable, { appId, fileId }: FileKey, limit: number) {
    const rows = await this.#page.all(db, { ...first, appId, fileId, limit })
    return rows.filter((reference) => reference.fileId === fileId)
  }

  /** Lists the references of the messages of a conversation, up to and including one. */
  async listMessagesUpTo(
    db: Queryable,
    appId: string,
    { lowId, highId, itemId }: Omit<FileReferrer, 'kind'>,
  ): Promise<FileReference[]> {
    return db
      .selectFrom('file_references')
      .select(columns)
      .where('app_id', '=', appId)
      .where('kind', '=', fileReferenceKind.message)
      .where('low_id', '=', lowId)
      .where('high_id', '=', highId)
      .where('item_id', '<=', itemId)
      .execute()
  }

  /** Lists the references of the shared files of a group. */
  async listShared(db: Queryable, appId: string, groupId: Int64): Promise<FileReference[]> {
    return db
      .selectFrom('file_references')
      .select(columns)
      .where('app_id', '=', appId)
      .where('kind', '=', fileReferenceKind.sharedFile)
      .where('low_id', '=', groupId)
      .where('high_id', '=', groupId)
      .execute()
  }
}

/** Sorts before every reference. */
const first = { fileId: '', kind: -1, lowId: -2, highId: -2, itemId: -1 }
