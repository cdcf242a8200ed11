import type { BulkInsert } from '../../../db/dialect/dialect.js'

/** What {@link insertReceiptRequests} is given. */
export const receiptRequestColumns = {
  app_id: 'text',
  group_id: 'bigint',
  seq: 'bigint',
  msg_id: 'bigint',
  sender_id: 'bigint',
  member_ids: 'text',
} as const

/** Of sends; rows in the order of their conversations. */
export const insertReceiptRequests: BulkInsert = {
  module: import.meta.url,
  table: 'receipt_requests',
  columns: receiptRequestColumns,
}
