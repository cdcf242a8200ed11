import type { BulkInsert } from '../../../db/dialect/dialect.js'
import { messageColumns } from './message-model.js'

export const insertMessages: BulkInsert = {
  module: import.meta.url,
  table: 'messages',
  columns: messageColumns,
}
