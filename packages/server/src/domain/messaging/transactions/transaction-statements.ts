/** How sends write transaction IDs. Rows of a bulk are in one order for all callers, or concurrent batches deadlock. */
import type { BulkInsert, BulkSelect, ColumnType } from '../../../db/dialect/dialect.js'

/** Transaction IDs are those of a sender in an app. */
export const transactionKey = {
  app_id: 'text',
  transaction_id: 'bigint',
  sender_id: 'bigint',
} as const satisfies Record<string, ColumnType>
/** What {@link claimTransactions} and {@link rewriteTransactions} are given; times in ms. */
export const transactionColumns = {
  ...transactionKey,
  msg_ids: 'text',
  created_at: 'bigint',
  expires_at: 'bigint',
} as const
/** As text, because not every driver reads an int64 exactly. */
const transactionKeyAsText = 'app_id, cast(transaction_id as text) as transaction_id, sender_id'
const onTransaction =
  'on conflict (app_id, transaction_id, sender_id) do update set msg_ids = excluded.msg_ids'

/**
 * Claims transaction IDs together with their message IDs. One that another transaction is claiming is waited for. Those that were claimed
 * before and are still remembered are not changed, which shows in the number of changed rows.
 */
export const claimTransactions: BulkInsert = {
  module: import.meta.url,
  table: 'sent_transactions',
  columns: transactionColumns,
  conflict: `${onTransaction}, created_at = excluded.created_at, expires_at = excluded.expires_at where t.expires_at <= excluded.created_at`,
}

/** Replaces the message IDs of transactions that the same database transaction has claimed. */
export const rewriteTransactions: BulkInsert = {
  module: import.meta.url,
  table: 'sent_transactions',
  columns: transactionColumns,
  conflict: onTransaction,
}

/** The message IDs of transactions that are remembered. */
export const findTransactions: BulkSelect = {
  table: 'sent_transactions',
  keys: transactionKey,
  columns: `${transactionKeyAsText}, msg_ids`,
}
