/**
 * Bulk statements that procedures run on conversations. All callers sort their rows alike, or
 * concurrent batches deadlock.
 */
import type { Int64 } from '@hermod/protocol'
import type { BulkInsert, BulkSelect, BulkUpdate, ColumnType } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { Schema } from '../../../db/schema.js'
import type { ConversationKey } from '../model/conversation-model.js'
import type { FurthestReaders } from '../model/furthest-readers.js'

const conversationKey = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
} as const satisfies Record<string, ColumnType>

const keyValues = ({ appId, lowId, highId }: ConversationKey) => ({
  app_id: appId,
  low_id: lowId,
  high_id: highId,
})

/** A row of {@link lockFurthestReaders}. */
export const conversationKeyRow = rowOf(conversationKey, keyValues)

/** Messages that are to be appended to a conversation. */
export interface AppendedMessages {
  readonly conversation: ConversationKey
  readonly count: number
  /** ID of the first one. */
  readonly firstId: number
  readonly sentAt: number
}

const advancedColumns = {
  ...conversationKey,
  seq: 'bigint',
  last_msg_id: 'bigint',
  created_at: 'bigint',
  furthest_id: 'bigint',
  furthest_seq: 'bigint',
  others_seq: 'bigint',
} as const

/** The end of a conversation after {@link advanceConversations}. */
export type AdvancedConversation = Pick<
  Schema['conversations'],
  'app_id' | 'low_id' | 'high_id' | 'seq' | 'last_msg_id'
> & { readonly alterations: number; readonly ids_ahead_ms: number }

/**
 * Takes the next `seq` positions of conversations, creating new ones, moves the furthest readers to
 * the senders, and offers the ID of the first new message. Returns the last of the new positions; a
 * `last_msg_id` other than the offered one is a greater ID that the conversation already holds.
 * Returns nothing for closed conversations.
 */
export const advanceConversations: BulkInsert = {
  table: 'conversations',
  columns: advancedColumns,
  conflict: `on conflict (app_id, low_id, high_id) do update set seq = t.seq + excluded.seq,
    last_msg_id = case when t.last_msg_id > excluded.last_msg_id then t.last_msg_id else excluded.last_msg_id end,
    created_at = case when t.seq = 0 then excluded.created_at else t.created_at end,
    furthest_seq = case when excluded.furthest_seq = 0 then t.furthest_seq else t.seq + excluded.furthest_seq end,
    others_seq = case when excluded.others_seq > 0 then t.seq + excluded.others_seq
      when excluded.furthest_seq = 0 or excluded.furthest_id = t.furthest_id then t.others_seq else t.furthest_seq end,
    furthest_id = case when excluded.furthest_seq = 0 then t.furthest_id else excluded.furthest_id end
    where t.closed = 0`,
  returning: 'app_id, low_id, high_id, seq, alterations, last_msg_id, ids_ahead_ms',
}

/** The last senders of new messages, who have read their own messages. */
export interface LastSenders {
  /** The last sender. */
  readonly senderId: Int64
  /** The number of the last one of that sender's messages among the new ones, from 1; 0 = no sender. */
  readonly last: number
  /** The number of the last message of any other sender; 0 = there is none. */
  readonly othersLast: number
}

export const advanceRow = rowOf(
  advancedColumns,
  (
    { conversation, count, firstId, sentAt }: AppendedMessages,
    { senderId, last, othersLast }: LastSenders,
  ) => ({
    app_id: conversation.appId,
    low_id: conversation.lowId,
    high_id: conversation.highId,
    seq: count,
    last_msg_id: firstId,
    created_at: sentAt,
    furthest_id: senderId,
    furthest_seq: last,
    others_seq: othersLast,
  }),
)

const lastIdColumns = { last_msg_id: 'bigint' } as const

/**
 * Sets the last message of locked conversations that got more than one message, or other IDs than
 * offered.
 */
export const setLastMessageIds: BulkUpdate = {
  table: 'conversations',
  set: lastIdColumns,
  keys: conversationKey,
}

export const lastMessageIdRow = rowOf(
  { ...lastIdColumns, ...conversationKey },
  (conversation: ConversationKey, messageId: number) => ({
    last_msg_id: messageId,
    app_id: conversation.appId,
    low_id: conversation.lowId,
    high_id: conversation.highId,
  }),
)

const idsAheadColumns = { ids_ahead_ms: 'bigint' } as const

/** Sets the most by which IDs are ahead of the times of their messages, in locked conversations. */
export const setIdsAhead: BulkUpdate = {
  table: 'conversations',
  set: idsAheadColumns,
  keys: conversationKey,
}

export const idsAheadRow = rowOf(
  { ...idsAheadColumns, ...conversationKey },
  (conversation: ConversationKey, aheadMs: number) => ({
    ids_ahead_ms: aheadMs,
    ...keyValues(conversation),
  }),
)

const furthestReaders = {
  furthest_id: 'bigint',
  furthest_seq: 'bigint',
  others_seq: 'bigint',
} as const

/** The row of a conversation with its furthest readers. */
export interface FurthestReadersRow {
  readonly app_id: string
  readonly low_id: Int64
  readonly high_id: Int64
  readonly furthest_id: Int64
  readonly furthest_seq: number
  readonly others_seq: number
}

/** Locks the furthest readers of groups' conversations. */
export const lockFurthestReaders: BulkSelect = {
  table: 'conversations',
  keys: conversationKey,
  columns: `app_id, low_id, high_id, ${Object.keys(furthestReaders).join(', ')}`,
  lock: 'for no key update',
}

/** Sets the furthest readers of locked conversations. */
export const setFurthestReaders: BulkUpdate = {
  table: 'conversations',
  set: furthestReaders,
  keys: conversationKey,
}

export const furthestReadersRow = rowOf(
  { ...furthestReaders, ...conversationKey },
  (conversation: ConversationKey, { id, seq, othersSeq }: FurthestReaders) => ({
    furthest_id: id,
    furthest_seq: seq,
    others_seq: othersSeq,
    app_id: conversation.appId,
    low_id: conversation.lowId,
    high_id: conversation.highId,
  }),
)

const notifiedColumns = { last_notified_seq: 'bigint' } as const

/** Sets the position of the newest notification in a user's name, in locked conversations. */
export const setLastNotified: BulkUpdate = {
  table: 'conversations',
  set: notifiedColumns,
  keys: conversationKey,
}

export const lastNotifiedRow = rowOf(
  { ...notifiedColumns, ...conversationKey },
  (conversation: ConversationKey, seq: number) => ({
    last_notified_seq: seq,
    app_id: conversation.appId,
    low_id: conversation.lowId,
    high_id: conversation.highId,
  }),
)
