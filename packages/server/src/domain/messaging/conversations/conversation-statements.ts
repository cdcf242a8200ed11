/** How procedures write conversations. Rows of a bulk are in one order for all callers, or concurrent batches deadlock. */
import type { BulkInsert, BulkSelect, BulkUpdate, ColumnType } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { ConversationKey } from '../model/conversation-model.js'

const conversationKey = {
  app_id: 'text',
  low_id: 'bigint',
  high_id: 'bigint',
} as const satisfies Record<string, ColumnType>
/** What {@link lockMarks} and {@link lockFurthestReaders} are given. */
export const conversationKeyRow = rowOf(conversationKey, (key: ConversationKey) => ({
  app_id: key.appId,
  low_id: key.lowId,
  high_id: key.highId,
}))
/** What {@link advanceConversations} and {@link setLastMessageIds} are given. */
export const positionColumns = {
  ...conversationKey,
  seq: 'bigint',
  last_msg_id: 'bigint',
  created_at: 'bigint',
  low_read_seq: 'bigint',
  high_read_seq: 'bigint',
  low_seen_seq: 'bigint',
  high_seen_seq: 'bigint',
} as const
/** What {@link advanceGroupConversations} is given. */
export const groupPositionColumns = {
  ...conversationKey,
  seq: 'bigint',
  last_msg_id: 'bigint',
  created_at: 'bigint',
  reader_id: 'bigint',
  low_read_seq: 'bigint',
  high_read_seq: 'bigint',
} as const
/** What {@link addToLists} is given. */
export const listColumns = {
  app_id: 'text',
  user_id: 'bigint',
  low_id: 'bigint',
  high_id: 'bigint',
} as const
const onConversation = 'on conflict (app_id, low_id, high_id) do update set'
const setLastId =
  'last_msg_id = case when t.last_msg_id > excluded.last_msg_id then t.last_msg_id else excluded.last_msg_id end'
const movedMarks = ['low_read_seq', 'high_read_seq', 'low_seen_seq', 'high_seen_seq']
  .map(
    (mark) =>
      `${mark} = case when excluded.${mark} = 0 then t.${mark} else t.seq + excluded.${mark} end`,
  )
  .join(', ')

/**
 * Takes the next `seq` positions of conversations, creating those that are new, and offers the first new message ID. A mark says
 * which of the new messages is the last one of that party, counted from 1, and moves to it; 0 leaves the mark alone. Returns the last of
 * the new positions; a `last_msg_id` other than the one offered is that of a message which is there already and has a greater ID. Returns
 * nothing of conversations that are closed.
 */
export const advanceConversations: BulkInsert = {
  module: import.meta.url,
  table: 'conversations',
  columns: positionColumns,
  conflict: `${onConversation} seq = t.seq + excluded.seq, ${setLastId}, ${movedMarks} where t.closed = 0`,
  returning: 'app_id, low_id, high_id, seq, last_msg_id',
}

/**
 * As {@link advanceConversations} for conversations of groups: `reader_id` is the last sender and `low_read_seq` which of the new
 * messages is the last one of that member; `high_read_seq` which is the last one of any other member. 0: the system sent.
 */
export const advanceGroupConversations: BulkInsert = {
  module: import.meta.url,
  table: 'conversations',
  columns: groupPositionColumns,
  conflict: `${onConversation} seq = t.seq + excluded.seq, ${setLastId},
    low_read_seq = case when excluded.reader_id = 0 then t.low_read_seq else t.seq + excluded.low_read_seq end,
    high_read_seq = case when excluded.high_read_seq > 0 then t.seq + excluded.high_read_seq
      when excluded.reader_id = 0 or excluded.reader_id = t.reader_id then t.high_read_seq else t.low_read_seq end,
    reader_id = case when excluded.reader_id = 0 then t.reader_id else excluded.reader_id end`,
  returning: 'app_id, low_id, high_id, seq, last_msg_id',
}

/** For conversations that got more than one message, or other IDs than offered. */
export const setLastMessageIds: BulkInsert = {
  module: import.meta.url,
  table: 'conversations',
  columns: positionColumns,
  conflict: `${onConversation} last_msg_id = excluded.last_msg_id`,
}

/** Shows new conversations to their parties, except those who are deleted; nobody else is deleted until the transaction ends. */
export const addToLists: BulkInsert = {
  module: import.meta.url,
  table: 'user_conversations',
  columns: listColumns,
  where: (lock) => `exists (select 1 from users u
    where u.app_id = v.app_id and u.user_id = v.user_id and u.deleted_at is null ${lock('for key share')})`,
  conflict: 'on conflict (app_id, user_id, low_id, high_id) do nothing',
}

const partyMarks = {
  low_read_seq: 'bigint',
  high_read_seq: 'bigint',
  low_seen_seq: 'bigint',
  high_seen_seq: 'bigint',
  low_delivered_seq: 'bigint',
  high_delivered_seq: 'bigint',
} as const
/** What {@link setMarks} is given. */
export const writtenMarkColumns = { ...partyMarks, ...conversationKey } as const

/** The marks of both parties, which stay as they are until the transaction ends. closed: one of them may be deleted. */
export const lockMarks: BulkSelect = {
  table: 'conversations',
  keys: conversationKey,
  columns: `app_id, low_id, high_id, closed, seq, last_msg_id, ${Object.keys(partyMarks).join(', ')}`,
  lock: 'for no key update',
}

/** Sets the marks of conversations that are locked. */
export const setMarks: BulkUpdate = {
  module: import.meta.url,
  table: 'conversations',
  set: partyMarks,
  keys: conversationKey,
}

const furthestReaders = {
  reader_id: 'bigint',
  low_read_seq: 'bigint',
  high_read_seq: 'bigint',
} as const
/** What {@link setFurthestReaders} is given. */
export const writtenReaderColumns = { ...furthestReaders, ...conversationKey } as const

/** Who has read furthest in conversations of groups, which stays as it is until the transaction ends. */
export const lockFurthestReaders: BulkSelect = {
  table: 'conversations',
  keys: conversationKey,
  columns: `app_id, low_id, high_id, ${Object.keys(furthestReaders).join(', ')}`,
  lock: 'for no key update',
}

/** Sets the furthest readers of groups' conversations that are locked. */
export const setFurthestReaders: BulkUpdate = {
  module: import.meta.url,
  table: 'conversations',
  set: furthestReaders,
  keys: conversationKey,
}

export const notifiedColumns = { last_notified_seq: 'bigint', ...conversationKey } as const

/** Says of conversations that were advanced where the newest notification in the name of a user is. */
export const noteNotifications: BulkUpdate = {
  module: import.meta.url,
  table: 'conversations',
  set: { last_notified_seq: 'bigint' },
  keys: conversationKey,
}
