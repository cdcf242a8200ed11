import type { BulkInsert } from '../../../db/dialect/dialect.js'
import { messageColumns } from '../model/message-model.js'

/** Appends messages to the log, by rows of {@link messageColumns}. */
export const insertMessages: BulkInsert = {
  module: import.meta.url,
  table: 'messages',
  columns: messageColumns,
}

export const ownNotificationColumns = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
  user_id: 'bigint',
  seq: 'bigint',
  msg_id: 'bigint',
} as const

/** Notes notifications in the names of users, who do not count them as unread. */
export const insertOwnNotifications: BulkInsert = {
  module: import.meta.url,
  table: 'own_notifications',
  columns: ownNotificationColumns,
}
