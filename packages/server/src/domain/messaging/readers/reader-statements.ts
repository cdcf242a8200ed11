/**
 * Bulk statements of readers. All callers sort their rows by conversation and user, or concurrent
 * batches deadlock. Loaded by the writer's thread too.
 */
import type { Int64 } from '@hermod/protocol'
import type { BulkDelete, BulkInsert, BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'
import { compare } from '../../../lib/compare.js'
import { type ConversationKey, compareConversations } from '../model/conversation-model.js'
import type { ReaderKey, ReaderPositions } from './reader-positions.js'

const readerKey = {
  app_id: 'text',
  user_id: 'bigint',
  low_id: 'bigint',
  high_id: 'bigint',
} as const

const keyValues = ({ appId, userId, lowId, highId }: ReaderKey) => ({
  app_id: appId,
  user_id: userId,
  low_id: lowId,
  high_id: highId,
})

/** A row of {@link findReaders}, {@link lockReaders} and {@link deleteReaders}. */
export const readerKeyRow = rowOf(readerKey, keyValues)

export function readerOf({ appId, lowId, highId }: ConversationKey, userId: Int64): ReaderKey {
  return { appId, userId, lowId, highId }
}

/** The order in which all transactions lock rows of readers. */
export function compareReaders(a: ReaderKey, b: ReaderKey): number {
  return compareConversations(a, b) || compare(a.userId, b.userId)
}

/** The first positions of a reader. */
export interface ReaderStart {
  /** The last message before the user became a reader. */
  readonly messageId: number
  /** The position of that message: everything up to it is read and delivered. */
  readonly seq: number
  readonly ackedSeq: number
}

/** The start of a reader who has a conversation from its first message on. */
export const noStart: ReaderStart = { messageId: 0, seq: 0, ackedSeq: 0 }

/** Returns the start of a reader of broadcasts whose positions have not moved. */
export function startOf({ startMessageId, seen }: ReaderPositions): ReaderStart {
  return { messageId: startMessageId, seq: seen, ackedSeq: seen }
}

const insertedColumns = {
  ...readerKey,
  start_msg_id: 'bigint',
  seen_seq: 'bigint',
  read_seq: 'bigint',
  acked_seq: 'bigint',
  delivered_seq: 'bigint',
} as const

/**
 * Inserts missing readers, except for deleted users. Locks the users, so that none is deleted before
 * the commit.
 */
export const insertReaders: BulkInsert = {
  table: 'readers',
  columns: insertedColumns,
  where: (lock) => `exists (select 1 from users u
    where u.app_id = v.app_id and u.user_id = v.user_id and u.deleted_at is null ${lock('for key share')})`,
  conflict: 'on conflict (app_id, user_id, low_id, high_id) do nothing',
}

export const insertedReaderRow = rowOf(
  insertedColumns,
  ({ appId, userId, lowId, highId }: ReaderKey, { messageId, seq, ackedSeq }: ReaderStart) => ({
    app_id: appId,
    user_id: userId,
    low_id: lowId,
    high_id: highId,
    start_msg_id: messageId,
    seen_seq: seq,
    read_seq: seq,
    acked_seq: ackedSeq,
    delivered_seq: seq,
  }),
)

const sentColumns = { read_seq: 'bigint', seen_seq: 'bigint' } as const

/** Moves the positions of members who have sent to groups. Skips users who are no members any more. */
export const advanceReaders: BulkUpdate = {
  table: 'readers',
  set: sentColumns,
  keys: readerKey,
}

export const advancedReaderRow = rowOf(
  { ...sentColumns, ...readerKey },
  ({ appId, userId, lowId, highId }: ReaderKey, seq: number) => ({
    read_seq: seq,
    seen_seq: seq,
    app_id: appId,
    user_id: userId,
    low_id: lowId,
    high_id: highId,
  }),
)

/** The positions between which readers move who have read everything. */
export interface ReadRange {
  readonly reader: ReaderKey
  readonly from: number
  readonly to: number
}

const readColumns = { ...sentColumns, delivered_seq: 'bigint' } as const

/** Moves readers who have read everything up to one position to another one. */
export const moveFullyRead: BulkUpdate = {
  table: 'readers',
  set: readColumns,
  keys: { ...readerKey, seen_seq: 'bigint' },
}

export const fullyReadRow = rowOf(
  { to: 'bigint', seen: 'bigint', delivered: 'bigint', ...readerKey, from: 'bigint' },
  ({ reader: { appId, userId, lowId, highId }, from, to }: ReadRange) => ({
    to,
    seen: to,
    delivered: to,
    app_id: appId,
    user_id: userId,
    low_id: lowId,
    high_id: highId,
    from,
  }),
)

const positions = {
  seen_seq: 'bigint',
  read_seq: 'bigint',
  acked_seq: 'bigint',
  delivered_seq: 'bigint',
} as const

/** The positions of a reader. */
export type ReaderRow = {
  readonly app_id: string
  readonly user_id: Int64
  readonly low_id: Int64
  readonly high_id: Int64
  /** 0 or 1; 1 = the user is deleted */
  readonly closed: number
} & { -readonly [Name in keyof typeof positions]: number }

export const findReaders: BulkSelect = {
  table: 'readers',
  keys: readerKey,
  columns: `app_id, user_id, low_id, high_id, closed, ${Object.keys(positions).join(', ')}`,
}

export const lockReaders: BulkSelect = { ...findReaders, lock: 'for no key update' }

/** Sets the positions of locked readers. */
export const setReaders: BulkUpdate = {
  table: 'readers',
  set: positions,
  keys: readerKey,
}

export const readerRow = rowOf({ ...positions, ...readerKey }, (row: ReaderRow) => ({
  seen_seq: row.seen_seq,
  read_seq: row.read_seq,
  acked_seq: row.acked_seq,
  delivered_seq: row.delivered_seq,
  app_id: row.app_id,
  user_id: row.user_id,
  low_id: row.low_id,
  high_id: row.high_id,
}))

export const deleteReaders: BulkDelete = {
  deleteFrom: 'readers',
  keys: readerKey,
}
