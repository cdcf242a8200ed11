/** How marks of users in broadcast streams are written in bulk. */
import type { BulkInsert, BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { BroadcastReader } from '../conversations/broadcast-streams.js'

/** What {@link findBroadcastMarks} and {@link lockBroadcastMarks} are given. */
export const broadcastMarkKey = { app_id: 'text', user_id: 'bigint', sender_id: 'bigint' } as const
const marks = { seen_seq: 'bigint', read_seq: 'bigint', delivered_seq: 'bigint' } as const

const addedColumns = { ...broadcastMarkKey, seen_seq: 'bigint' } as const

/** Rows for users who have none, except those who are deleted; nobody else is deleted until the transaction ends. */
export const addBroadcastMarks: BulkInsert = {
  module: import.meta.url,
  table: 'broadcast_marks',
  columns: addedColumns,
  where: (lock) => `exists (select 1 from users u
    where u.app_id = v.app_id and u.user_id = v.user_id and u.deleted_at is null ${lock('for key share')})`,
  conflict: 'on conflict (app_id, user_id, sender_id) do nothing',
}

/** What {@link addBroadcastMarks} is given. @param seen nothing up to and including this position is unread */
export const addedBroadcastMarks = rowOf(
  addedColumns,
  ({ appId, userId, senderId }: BroadcastReader, seen: number) => ({
    app_id: appId,
    user_id: userId,
    sender_id: senderId,
    seen_seq: seen,
  }),
)

/** Where marks stand. */
export const findBroadcastMarks: BulkSelect = {
  table: 'broadcast_marks',
  keys: broadcastMarkKey,
  columns: `app_id, user_id, sender_id, ${Object.keys(marks).join(', ')}`,
}

/** Where marks stand, which stay so until the transaction ends. */
export const lockBroadcastMarks: BulkSelect = { ...findBroadcastMarks, lock: 'for no key update' }

/** What {@link setBroadcastMarks} is given. */
export const writtenBroadcastMarkColumns = { ...marks, ...broadcastMarkKey } as const

/** Sets marks that are locked. */
export const setBroadcastMarks: BulkUpdate = {
  module: import.meta.url,
  table: 'broadcast_marks',
  set: marks,
  keys: broadcastMarkKey,
}
