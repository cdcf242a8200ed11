import { fileReferenceKind, type Int64 } from '@hermod/protocol'
import type { Database, PreparedPage, Queryable, Tx } from '../../db/database.js'
import type { BulkDelete, BulkInsert, BulkSelect } from '../../db/dialect/dialect.js'
import { type Selectable, sql } from '../../db/kysely.js'
import { rowOf } from '../../db/rows.js'
import type { FileReferencesTable } from '../../db/schema.js'
import type { FileKey } from './file-model.js'
import type { FileReference, FileReferrer } from './references/reference-model.js'

const columns = {
  app_id: 'text',
  file_id: 'text',
  kind: 'smallint',
  low_id: 'bigint',
  high_id: 'bigint',
  item_id: 'bigint',
} as const
const referrerColumns = {
  app_id: 'text',
  kind: 'smallint',
  low_id: 'bigint',
  high_id: 'bigint',
  item_id: 'bigint',
} as const

const insertReferences: BulkInsert = {
  table: 'file_references',
  columns,
  conflict: 'on conflict do nothing',
}
const deleteReferences: BulkDelete = {
  deleteFrom: 'file_references',
  keys: columns,
}
const findOfReferrers: BulkSelect = {
  table: 'file_references',
  keys: referrerColumns,
  columns: 't.app_id, t.file_id, t.kind, t.low_id, t.high_id, t.item_id',
}

const referenceRow = rowOf(columns, (reference: FileReference) => ({
  app_id: reference.appId,
  file_id: reference.fileId,
  kind: reference.kind,
  low_id: reference.lowId,
  high_id: reference.highId,
  item_id: reference.itemId,
}))

type ReferenceRow = Selectable<FileReferencesTable>

/** The recorded references to files. */
export class FileReferenceStore {
  readonly #page: PreparedPage<ReferencePlace, ReferenceRow>

  constructor(private readonly database: Database) {
    this.#page = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('file_references')
        .selectAll()
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
    const keys = referrers.map(({ kind, lowId, highId, itemId }) => [
      ...[appId, kind, lowId, highId, itemId],
    ])
    const rows = await this.database.bulk<ReferenceRow>(db, findOfReferrers, keys)
    return rows.map(toReference)
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
    const rows = await this.#page.all(db, { ...(after ?? first), appId, limit })
    return rows.map(toReference)
  }

  /** Lists at most `limit` references to one file. */
  async listOfFile(db: Queryable, { appId, fileId }: FileKey, limit: number) {
    const rows = await this.#page.all(db, { ...first, appId, fileId, limit })
    return rows.map(toReference).filter((reference) => reference.fileId === fileId)
  }

  /** Lists the references of the messages of a conversation, up to and including one. */
  async listMessagesUpTo(
    db: Queryable,
    appId: string,
    { lowId, highId, itemId }: Omit<FileReferrer, 'kind'>,
  ): Promise<FileReference[]> {
    const rows = await db
      .selectFrom('file_references')
      .selectAll()
      .where('app_id', '=', appId)
      .where('kind', '=', fileReferenceKind.message)
      .where('low_id', '=', lowId)
      .where('high_id', '=', highId)
      .where('item_id', '<=', itemId)
      .execute()
    return rows.map(toReference)
  }

  /** Lists the references of the shared files of a group. */
  async listShared(db: Queryable, appId: string, groupId: Int64): Promise<FileReference[]> {
    const rows = await db
      .selectFrom('file_references')
      .selectAll()
      .where('app_id', '=', appId)
      .where('kind', '=', fileReferenceKind.sharedFile)
      .where('low_id', '=', groupId)
      .where('high_id', '=', groupId)
      .execute()
    return rows.map(toReference)
  }
}

type ReferencePlace = FileReference

/** Sorts before every reference. */
const first = { fileId: '', kind: -1, lowId: -2, highId: -2, itemId: -1 }

function toReference(row: ReferenceRow): FileReference {
  return {
    appId: row.app_id,
    fileId: row.file_id,
    kind: row.kind,
    lowId: row.low_id,
    highId: row.high_id,
    itemId: row.item_id,
  }
}
