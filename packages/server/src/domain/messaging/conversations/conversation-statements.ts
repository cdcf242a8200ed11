/** Bulk statements that procedures run on conversations. All callers sort their rows alike, or concurrent batches deadlock. */
import type { Int64 } from '@hermod/protocol'
import type { BulkInsert, BulkSelect, BulkUpdate, ColumnType } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { ConversationsTable } from '../../../db/schema.js'
import type { ConversationKey } from '../model/conversation-model.js'

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

/** A row of {@link lockPositions} and {@link lockFurthestReaders}. */
export const conversationKeyRow = rowOf(conversationKey, keyValues)

const onConversation = 'on conflict (app_id, low_id, high_id) do update set'
const setLastId =
  'last_msg_id = case when t.last_msg_id > excluded.last_msg_id then t.last_msg_id else excluded.last_msg_id end'
const positionColumns = {
  ...conversationKey,
  seq: 'bigint',
  last_msg_id: 'bigint',
  created_at: 'bigint',
  low_read_seq: 'bigint',
  high_read_seq: 'bigint',
  low_seen_seq: 'bigint',
  high_seen_seq: 'bigint',
} as const
const movedPositions = ['low_read_seq', 'high_read_seq', 'low_seen_seq', 'high_seen_seq']
  .map(
    (name) =>
      `${name} = case when excluded.${name} = 0 then t.${name} else t.seq + excluded.${name} end`,
  )
  .join(', ')

/** Messages that are to be appended to a conversation. */
export interface AppendedMessages {
  readonly conversation: ConversationKey
  readonly count: number
  /** ID of the first one. */
  readonly firstId: number
  readonly sentAt: number
}

const advancedColumns = 'app_id, low_id, high_id, seq, alterations, last_msg_id, ids_ahead_ms'

/** The end of a conversation after {@link advanceConversations} or {@link advanceGroupConversations}. */
export type AdvancedConversation = Pick<
  ConversationsTable,
  'app_id' | 'low_id' | 'high_id' | 'seq' | 'last_msg_id'
> & { readonly alterations: number; readonly ids_ahead_ms: number }

/**
 * Takes the next `seq` positions of conversations, creating new ones, and offers the ID of the first new message. Returns the last of the
 * new positions; a `last_msg_id` other than the offered one is a greater ID that the conversation already holds. Returns nothing for
 * closed conversations.
 */
export const advanceConversations: BulkInsert = {
  table: 'conversations',
  columns: positionColumns,
  conflict: `${onConversation} seq = t.seq + excluded.seq, ${setLastId}, ${movedPositions} where t.closed = 0`,
  returning: advancedColumns,
}

/**
 * A row of {@link advanceConversations}. A party that sends has read its own message.
 * @param lastOwn for each party, the place of its last one of the new messages, counted from 1; 0 = it sent none
 */
export const advanceRow = rowOf(
  positionColumns,
  (
    { conversation, count, firstId, sentAt }: AppendedMessages,
    lastOwn: { readonly first: number; readonly second: number },
  ) => ({
    app_id: conversation.appId,
    low_id: conversation.lowId,
    high_id: conversation.highId,
    seq: count,
    last_msg_id: firstId,
    created_at: sentAt,
    low_read_seq: lastOwn.first,
    high_read_seq: lastOwn.second,
    low_seen_seq: lastOwn.first,
    high_seen_seq: lastOwn.second,
  }),
)

const groupPositionColumns = {
  ...conversationKey,
  seq: 'bigint',
  last_msg_id: 'bigint',
  created_at: 'bigint',
  reader_id: 'bigint',
  low_read_seq: 'bigint',
  high_read_seq: 'bigint',
} as const

/** Takes positions in groups' conversations, as {@link advanceConversations} does, and moves the furthest readers to the senders. */
export const advanceGroupConversations: BulkInsert = {
  table: 'conversations',
  columns: groupPositionColumns,
  conflict: `${onConversation} seq = t.seq + excluded.seq, ${setLastId},
    low_read_seq = case when excluded.reader_id = 0 then t.low_read_seq else t.seq + excluded.low_read_seq end,
    high_read_seq = case when excluded.high_read_seq > 0 then t.seq + excluded.high_read_seq
      when excluded.reader_id = 0 or excluded.reader_id = t.reader_id then t.high_read_seq else t.low_read_seq end,
    reader_id = case when excluded.reader_id = 0 then t.reader_id else excluded.reader_id end`,
  returning: advancedColumns,
}

/**
 * A row of {@link advanceGroupConversations}.
 * @param last.senderId the last sender; 0 = the system
 * @param last.ownPlace the place of that sender's last one of the new messages, counted from 1; 0 for the system
 * @param last.othersPlace the place of the last message of any other sender; 0 = there is none
 */
export const advanceGroupRow = rowOf(
  groupPositionColumns,
  (
    { conversation, count, firstId, sentAt }: AppendedMessages,
    last: { readonly senderId: Int64; readonly ownPlace: number; readonly othersPlace: number },
  ) => ({
    app_id: conversation.appId,
    low_id: conversation.lowId,
    high_id: conversation.highId,
    seq: count,
    last_msg_id: firstId,
    created_at: sentAt,
    reader_id: last.senderId,
    low_read_seq: last.ownPlace,
    high_read_seq: last.othersPlace,
  }),
)

const lastIdColumns = { last_msg_id: 'bigint' } as const

/** Sets the last message of locked conversations that got more than one message, or other IDs than offered. */
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

const listColumns = {
  app_id: 'text',
  user_id: 'bigint',
  low_id: 'bigint',
  high_id: 'bigint',
} as const

/** Adds new conversations to the lists of their parties, except deleted users. Locks the users, so that none is deleted before the commit. */
export const addToLists: BulkInsert = {
  table: 'user_conversations',
  columns: listColumns,
  where: (lock) => `exists (select 1 from users u
    where u.app_id = v.app_id and u.user_id = v.user_id and u.deleted_at is null ${lock('for key share')})`,
  conflict: 'on conflict (app_id, user_id, low_id, high_id) do nothing',
}

export const listRow = rowOf(
  listColumns,
  ({ appId, lowId, highId }: ConversationKey, userId: Int64) => ({
    app_id: appId,
    user_id: userId,
    low_id: lowId,
    high_id: highId,
  }),
)

const partyPositions = {
  low_read_seq: 'bigint',
  high_read_seq: 'bigint',
  low_seen_seq: 'bigint',
  high_seen_seq: 'bigint',
  low_delivered_seq: 'bigint',
  high_delivered_seq: 'bigint',
} as const

/** The row of a direct conversation with the positions of both parties. */
export type PartyPositions = {
  readonly app_id: string
  readonly low_id: Int64
  readonly high_id: Int64
  /** 0 or 1; 1 = a party is deleted */
  readonly closed: number
  readonly seq: number
  readonly last_msg_id: number
} & { -readonly [Name in keyof typeof partyPositions]: number }

/** Locks the positions of both parties. */
export const lockPositions: BulkSelect = {
  table: 'conversations',
  keys: conversationKey,
  columns: `app_id, low_id, high_id, closed, seq, last_msg_id, ${Object.keys(partyPositions).join(', ')}`,
  lock: 'for no key update',
}

/** Sets the positions of locked conversations. */
export const setPositions: BulkUpdate = {
  table: 'conversations',
  set: partyPositions,
  keys: conversationKey,
}

export const positionsRow = rowOf(
  { ...partyPositions, ...conversationKey },
  (row: PartyPositions) => ({
    low_read_seq: row.low_read_seq,
    high_read_seq: row.high_read_seq,
    low_seen_seq: row.low_seen_seq,
    high_seen_seq: row.high_seen_seq,
    low_delivered_seq: row.low_delivered_seq,
    high_delivered_seq: row.high_delivered_seq,
    app_id: row.app_id,
    low_id: row.low_id,
    high_id: row.high_id,
  }),
)

const furthestReaders = {
  reader_id: 'bigint',
  low_read_seq: 'bigint',
  high_read_seq: 'bigint',
} as const

/** The row of a group's conversation with its furthest readers. */
export interface FurthestReadersRow {
  readonly app_id: string
  readonly low_id: Int64
  readonly high_id: Int64
  reader_id: Int64
  low_read_seq: number
  high_read_seq: number
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
  (row: FurthestReadersRow) => ({
    reader_id: row.reader_id,
    low_read_seq: row.low_read_seq,
    high_read_seq: row.high_read_seq,
    app_id: row.app_id,
    low_id: row.low_id,
    high_id: row.high_id,
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
