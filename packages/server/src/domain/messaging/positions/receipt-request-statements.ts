/** Bulk statements of receipt requests. Loaded by the writer's thread too. */
import type { BulkInsert } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { ConversationKey } from '../model/conversation-model.js'
import { type MessageRow, rowValue } from '../model/message-model.js'

const columns = {
  app_id: 'text',
  group_id: 'bigint',
  seq: 'bigint',
  msg_id: 'bigint',
  sender_id: 'bigint',
  member_ids: 'text',
} as const

/** Inserts the requests of sends, in the order of their conversations. */
export const insertReceiptRequests: BulkInsert = {
  table: 'receipt_requests',
  columns,
}

/** @param memberIds the members who are asked, as `,1,2,` */
export const receiptRequestRow = rowOf(
  columns,
  ({ appId, lowId: groupId }: ConversationKey, message: MessageRow, memberIds: string) => ({
    app_id: appId,
    group_id: groupId,
    seq: rowValue.seq(message),
    msg_id: rowValue.messageId(message),
    sender_id: rowValue.senderId(message),
    member_ids: memberIds,
  }),
)
