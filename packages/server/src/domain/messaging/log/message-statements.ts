import type { BulkInsert } from '../../../db/dialect/dialect.js'
import { messageColumns } from './message-model.js'

/** Appends messages to the log, by rows of {@link messageColumns}. */
export const insertMessages: BulkInsert = {
  module: import.meta.url,
  table: 'messages',
  columns: messageColumns,
}
