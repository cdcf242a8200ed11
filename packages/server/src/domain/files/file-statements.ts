/** Bulk statements of files; see file-store.ts. */
import type { BulkInsert } from '../../db/dialect/dialect.js'
import { rowOf } from '../../db/rows.js'
import { filesTable } from '../../db/schema.js'
import { recipientNumber, type StoredFile } from './file-model.js'

/** Skips files whose ID is taken. */
export const insertFiles: BulkInsert = {
  table: 'files',
  columns: filesTable,
  conflict: 'on conflict (app_id, file_id) do nothing',
  returning: 'upload_id',
}

const row = rowOf(filesTable)

/** A row of {@link insertFiles}. */
export function fileRow({ recipient, ...file }: StoredFile): unknown[] {
  return row({ ...file, toType: recipientNumber(recipient), toId: recipient.id, removalId: '' })
}
