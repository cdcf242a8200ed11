/**
 * Row locks, from the strongest to the weakest. Each adds its clause to a select on a database
 * where transactions run concurrently. SQLite has one writer and needs no row locks.
 */

import type { Int64 } from '@hermod/protocol'
import type { Tx } from './database.js'
import { type SelectQueryBuilder, sql } from './kysely.js'

interface LockOptions<Table> {
  /** The locked tables, or their aliases; all by default. */
  readonly of?: readonly Table[]
  /** Leaves out the rows that another transaction has locked, instead of waiting for it. */
  readonly skipLocked?: boolean
}

/** Excludes every other lock of the rows. For changes that end something, such as a deletion. */
export function lockForUpdate<DB, TB extends keyof DB, O>(
  tx: Pick<Tx, 'hasRowLocks'>,
  query: SelectQueryBuilder<DB, TB, O>,
  { of, skipLocked = false }: LockOptions<TB & string> = {},
): SelectQueryBuilder<DB, TB, O> {
  if (!tx.hasRowLocks) return query
  return query.forUpdate(of as never).$if(skipLocked, (locked) => locked.skipLocked())
}

/**
 * Excludes the same lock and {@link lockForUpdate}, but not {@link lockKeyShare}. For changes that
 * must follow each other.
 */
export function lockNoKeyUpdate<DB, TB extends keyof DB, O>(
  tx: Tx,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return tx.hasRowLocks ? query.forNoKeyUpdate() : query
}

/** Excludes changes of the rows, but not the same lock. For work that depends on their values. */
export function lockShare<DB, TB extends keyof DB, O>(
  tx: Tx,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return tx.hasRowLocks ? query.forShare() : query
}

/** Excludes {@link lockForUpdate} and deletion of the rows only. For work that depends on their existence. */
export function lockKeyShare<DB, TB extends keyof DB, O>(
  tx: Tx,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return tx.hasRowLocks ? query.forKeyShare() : query
}

/**
 * {@link lockKeyShare} of one row, which queues behind {@link lockInOrder}. PostgreSQL grants a
 * shared row lock at once even while another transaction waits for the whole row, so a deletion
 * could wait for as long as others come. Advisory locks are granted in the order of the requests.
 * As a condition of the row this one is taken before the row is locked; taking it again costs
 * nothing.
 * @param key a value and not the column: PostgreSQL may evaluate the conditions in any order, on
 * other rows too, and would lock those.
 *   No other code uses advisory locks of one number
 */
export function lockKeyShareInOrder<DB, TB extends keyof DB, O>(
  tx: Tx,
  query: SelectQueryBuilder<DB, TB, O>,
  key: Int64,
): SelectQueryBuilder<DB, TB, O> {
  if (!tx.hasRowLocks) return query
  const isTaken = sql<boolean>`pg_advisory_xact_lock_shared(${key}::bigint) is not null`
  return lockKeyShare(tx, query.where(isTaken))
}

/**
 * Waits for the holders of {@link lockKeyShareInOrder} and queues new ones behind itself;
 * {@link lockForUpdate} follows.
 */
export async function lockInOrder(tx: Tx, key: Int64): Promise<void> {
  if (tx.hasRowLocks) await sql`select pg_advisory_xact_lock(${key}::bigint)`.execute(tx)
}
