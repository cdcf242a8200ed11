import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { BulkInsert } from '../../db/dialect/dialect.js'
import { rowOf } from '../../db/rows.js'
import type { FileKey } from './file-model.js'

/** Something that names a file, so that the file stays. */
export interface FileReference extends FileKey {
  /** As fileReferenceKind. */
  readonly kind: number
  /** The conversation of a message; else the user or the group, twice. */
  readonly lowId: Int64
  readonly highId: Int64
  /** The message or the shared file; of an avatar 0. */
  readonly itemId: Int64
}

const columns = {
  app_id: 'text',
  file_id: 'text',
  kind: 'smallint',
  low_id: 'bigint',
  high_id: 'bigint',
  item_id: 'bigint',
} as const

const insertReferences: BulkInsert = {
  module: import.meta.url,
  table: 'file_references',
  columns,
  conflict: 'on conflict do nothing',
}

const referenceRow = rowOf(columns, (reference: FileReference) => ({
  app_id: reference.appId,
  file_id: reference.fileId,
  kind: reference.kind,
  low_id: reference.lowId,
  high_id: reference.highId,
  item_id: reference.itemId,
}))

/** What names which file. */
export class FileReferenceStore {
  constructor(private readonly database: Database) {}

  /** Those that are there already stay as they are. */
  async insertMany(tx: Tx, references: readonly FileReference[]): Promise<void> {
    await this.database.bulk(
      tx,
      insertReferences,
      references.map((reference) => referenceRow(reference)),
    )
  }
}
