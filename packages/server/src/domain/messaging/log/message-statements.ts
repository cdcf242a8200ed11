/** Bulk statements that append messages. Loaded by the writer's thread too. */
import type { BulkInsert } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { ConversationKey } from '../model/conversation-model.js'
import { type MessageRow, messageColumns, rowValue } from '../model/message-model.js'

/** Appends messages to the log, as rows of {@link messageColumns}. */
export const insertMessages: BulkInsert = {
  table: 'messages',
  columns: messageColumns,
}

const ownNotificationColumns = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
  user_id: 'bigint',
  seq: 'bigint',
  msg_id: 'bigint',
} as const

/** Records notifications in users' names, which these users do not count as unread. */
export const insertOwnNotifications: BulkInsert = {
  table: 'own_notifications',
  columns: ownNotificationColumns,
}

export const ownNotificationRow = rowOf(
  ownNotificationColumns,
  ({ appId, lowId, highId }: ConversationKey, message: MessageRow) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    user_id: rowValue.senderId(message),
    seq: rowValue.seq(message),
    msg_id: rowValue.messageId(message),
  }),
)
