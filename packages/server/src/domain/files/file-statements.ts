/** Bulk statements of files; see file-store.ts. */
import type { BulkInsert } from '../../db/dialect/dialect.js'
import { rowOf } from '../../db/rows.js'
import { recipientNumber, type StoredFile } from './file-model.js'

const columns = {
  app_id: 'text',
  file_id: 'text',
  upload_id: 'text',
  owner_id: 'bigint',
  purpose: 'smallint',
  file_type: 'smallint',
  to_type: 'smallint',
  to_id: 'bigint',
  name: 'text',
  content_type: 'text',
  size: 'bigint',
  crc32: 'bigint',
  created_at: 'bigint',
} as const

/** Skips files whose ID is taken. */
export const insertFiles: BulkInsert = {
  table: 'files',
  columns,
  conflict: 'on conflict (app_id, file_id) do nothing',
  returning: 'upload_id',
}

/** A row of {@link insertFiles}. */
export const fileRow = rowOf(columns, (file: StoredFile) => ({
  app_id: file.appId,
  file_id: file.fileId,
  upload_id: file.uploadId,
  owner_id: file.ownerId,
  purpose: file.purpose,
  file_type: file.fileType,
  to_type: recipientNumber(file.recipient),
  to_id: file.recipient.id,
  name: file.name,
  content_type: file.contentType,
  size: file.size,
  crc32: file.crc32,
  created_at: file.createdAt,
}))
