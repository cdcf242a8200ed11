/** Bulk statements of users' positions in broadcast streams. Loaded by the writer's thread too. */
import type { Int64 } from '@hermod/protocol'
import type { BulkInsert, BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import type { BroadcastReader } from '../conversations/broadcast-streams.js'

const keyColumns = { app_id: 'text', user_id: 'bigint', sender_id: 'bigint' } as const
const positions = { seen_seq: 'bigint', read_seq: 'bigint', delivered_seq: 'bigint' } as const
const insertedColumns = { ...keyColumns, seen_seq: 'bigint' } as const

/** The positions of a user in the broadcasts of a sender. */
export interface BroadcastPositionsRow {
  readonly app_id: string
  readonly user_id: Int64
  readonly sender_id: Int64
  seen_seq: number
  read_seq: number
  delivered_seq: number
}

const keyValues = ({ appId, userId, senderId }: BroadcastReader) => ({
  app_id: appId,
  user_id: userId,
  sender_id: senderId,
})

/** A row of {@link findBroadcastPositions} and {@link lockBroadcastPositions}. */
export const broadcastKeyRow = rowOf(keyColumns, keyValues)

/** Inserts missing rows, except for deleted users. Locks the users, so that none is deleted before the commit. */
export const insertBroadcastPositions: BulkInsert = {
  table: 'broadcast_marks',
  columns: insertedColumns,
  where: (lock) => `exists (select 1 from users u
    where u.app_id = v.app_id and u.user_id = v.user_id and u.deleted_at is null ${lock('for key share')})`,
  conflict: 'on conflict (app_id, user_id, sender_id) do nothing',
}

/** @param seen nothing up to and including this position is unread */
export const insertedBroadcastRow = rowOf(
  insertedColumns,
  (reader: BroadcastReader, seen: number) => ({ ...keyValues(reader), seen_seq: seen }),
)

export const findBroadcastPositions: BulkSelect = {
  table: 'broadcast_marks',
  keys: keyColumns,
  columns: `app_id, user_id, sender_id, ${Object.keys(positions).join(', ')}`,
}

export const lockBroadcastPositions: BulkSelect = {
  ...findBroadcastPositions,
  lock: 'for no key update',
}

/** Sets the positions of locked rows. */
export const setBroadcastPositions: BulkUpdate = {
  table: 'broadcast_marks',
  set: positions,
  keys: keyColumns,
}

export const broadcastPositionsRow = rowOf(
  { ...positions, ...keyColumns },
  (row: BroadcastPositionsRow) => ({
    seen_seq: row.seen_seq,
    read_seq: row.read_seq,
    delivered_seq: row.delivered_seq,
    app_id: row.app_id,
    user_id: row.user_id,
    sender_id: row.sender_id,
  }),
)
