import type { Database, Queryable, Tx } from '../../db/database.js'
import type { Selectable } from '../../db/kysely.js'
import type { FilesTable } from '../../db/schema.js'
import { type FileKey, recipientOf, type StoredFile } from './file-model.js'
import { fileRow, insertFiles } from './file-statements.js'

/** The files that are whole in the store. */
export class FileStore {
  readonly #database: Database
  readonly #find

  constructor(database: Database) {
    this.#database = database
    this.#find = database.prepared<FileKey, Selectable<FilesTable>>((db, param) =>
      db
        .selectFrom('files')
        .selectAll()
        .where('app_id', '=', param('appId'))
        .where('file_id', '=', param('fileId')),
    )
  }

  async find(db: Queryable, { appId, fileId }: FileKey): Promise<StoredFile | null> {
    const row = await this.#find.first(db, { appId, fileId })
    return row ? toStoredFile(row) : null
  }

  /** @returns the upload IDs of those that are stored; the others have a file ID that is taken */
  async insertMany(tx: Tx, files: readonly StoredFile[]): Promise<Set<string>> {
    const rows = await this.#database.bulk<{ upload_id: string }>(
      tx,
      insertFiles,
      files.map((file) => fileRow(file)),
    )
    return new Set(rows.map((row) => row.upload_id))
  }
}

/** The file of a row. */
export function toStoredFile(row: Selectable<FilesTable>): StoredFile {
  return {
    appId: row.app_id,
    fileId: row.file_id,
    uploadId: row.upload_id,
    ownerId: row.owner_id,
    purpose: row.purpose,
    fileType: row.file_type,
    recipient: recipientOf(row.to_type, row.to_id),
    name: row.name,
    contentType: row.content_type,
    size: row.size,
    crc32: row.crc32,
    createdAt: row.created_at,
  }
}
