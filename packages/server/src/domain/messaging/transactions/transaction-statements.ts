/** Bulk statements of transaction IDs. All callers sort their rows alike, or concurrent batches deadlock. */
import type { Int64 } from '@hermod/protocol'
import type { BulkInsert, BulkSelect, BulkUpdate, ColumnType } from '../../../db/dialect/dialect.js'
import { rowOf } from '../../../db/rows.js'

/** A transaction ID, which a sender chooses within an app. */
export interface TransactionKey {
  readonly appId: string
  readonly senderId: Int64
  readonly transactionId: Int64
}

/** The time of a claim and the end of its life, in ms. */
export interface ClaimTimes {
  readonly now: number
  readonly expiresAt: number
}

/** A remembered transaction. */
export interface TransactionRow {
  readonly app_id: string
  /** Text, because not every driver reads an int64 exactly. */
  readonly transaction_id: string
  readonly sender_id: Int64
  /** JSON list. */
  readonly msg_ids: string
}

const keyColumns = {
  app_id: 'text',
  transaction_id: 'bigint',
  sender_id: 'bigint',
} as const satisfies Record<string, ColumnType>
const transactionColumns = {
  ...keyColumns,
  msg_ids: 'text',
  created_at: 'bigint',
  expires_at: 'bigint',
} as const

/**
 * Claims transaction IDs together with their message IDs, and waits for other transactions that
 * claim the same. IDs that are still remembered stay as they are, which shows in the number of
 * changed rows.
 */
export const claimTransactions: BulkInsert = {
  table: 'sent_transactions',
  columns: transactionColumns,
  conflict: `on conflict (app_id, transaction_id, sender_id) do update set msg_ids = excluded.msg_ids,
    created_at = excluded.created_at, expires_at = excluded.expires_at where t.expires_at <= excluded.created_at`,
}

export const transactionRow = rowOf(
  transactionColumns,
  (key: TransactionKey, messageIds: string, { now, expiresAt }: ClaimTimes) => ({
    app_id: key.appId,
    transaction_id: key.transactionId,
    sender_id: key.senderId,
    msg_ids: messageIds,
    created_at: now,
    expires_at: expiresAt,
  }),
)

const messageIdsColumns = { msg_ids: 'text' } as const

/** Replaces the message IDs of transactions that the same database transaction has claimed. */
export const setTransactionMessages: BulkUpdate = {
  table: 'sent_transactions',
  set: messageIdsColumns,
  keys: keyColumns,
}

export const transactionMessagesRow = rowOf(
  { ...messageIdsColumns, ...keyColumns },
  (key: TransactionKey, messageIds: string) => ({ msg_ids: messageIds, ...keyValues(key) }),
)

/** Finds remembered transactions; returns {@link TransactionRow}. */
export const findTransactions: BulkSelect = {
  table: 'sent_transactions',
  keys: keyColumns,
  columns: 'app_id, cast(transaction_id as text) as transaction_id, sender_id, msg_ids',
}

export const transactionKeyRow = rowOf(keyColumns, keyValues)

function keyValues({ appId, senderId, transactionId }: TransactionKey) {
  return { app_id: appId, transaction_id: transactionId, sender_id: senderId }
}
