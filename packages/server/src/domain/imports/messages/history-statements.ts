import type { BulkSelect } from '../../../db/dialect/dialect.js'
import type { Int64 } from '@hermod/protocol'
import { rowOf } from '../../../db/rows.js'
import type { ConversationKey } from '../../messaging/model/conversation-model.js'

const conversationKey = { app_id: 'text', low_id: 'bigint', high_id: 'bigint' } as const

/** A row of {@link lockConversations}. */
export const conversationKeyRow = rowOf(
  conversationKey,
  ({ appId, lowId, highId }: ConversationKey) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
  }),
)

/** The end of a conversation before messages are imported into it. */
export interface ConversationState {
  readonly low_id: Int64
  readonly high_id: Int64
  readonly seq: number
  readonly alterations: number
  readonly last_msg_id: number
  readonly ids_ahead_ms: number
  readonly furthest_id: Int64
  readonly furthest_seq: number
  readonly others_seq: number
}

/** Locks conversations against sends. */
export const lockConversations: BulkSelect = {
  table: 'conversations',
  keys: conversationKey,
  columns:
    't.low_id, t.high_id, t.seq, t.alterations, t.last_msg_id, t.ids_ahead_ms, t.furthest_id, t.furthest_seq, t.others_seq',
  lock: 'for update',
}

const messageKey = { ...conversationKey, msg_id: 'bigint' } as const

export const messageKeyRow = rowOf(
  messageKey,
  ({ appId, lowId, highId }: ConversationKey, messageId: number) => ({
    app_id: appId,
    low_id: lowId,
    high_id: highId,
    msg_id: messageId,
  }),
)

/** The time of a message. */
export interface TimeOfMessage {
  readonly low_id: Int64
  readonly high_id: Int64
  readonly sent_at: number
}

/** Finds the times of messages. */
export const findTimes: BulkSelect = {
  table: 'messages',
  keys: messageKey,
  columns: 't.low_id, t.high_id, t.sent_at',
}

/** The same of recalled messages. */
export const findTimesOfRecalled: BulkSelect = { ...findTimes, table: 'recalled_messages' }
