/**
 * Row locks, from the strongest to the weakest. Each adds its clause to a select where transactions run at once; SQLite has one writer,
 * whose transaction need not lock anything.
 */

import type { Int64 } from '@hermod/protocol'
import type { Tx } from './database.js'
import { type SelectQueryBuilder, sql } from './kysely.js'

interface LockOptions<Table> {
  /** The tables, or their aliases, whose rows are locked; all by default. */
  readonly of?: readonly Table[]
  /** Leaves out the rows that another transaction has locked, instead of waiting for it. */
  readonly skipLocked?: boolean
}

/** For changes that end something: excludes every other lock of the rows. */
export function lockForUpdate<DB, TB extends keyof DB, O>(
  tx: Pick<Tx, 'hasRowLocks'>,
  query: SelectQueryBuilder<DB, TB, O>,
  { of, skipLocked = false }: LockOptions<TB & string> = {},
): SelectQueryBuilder<DB, TB, O> {
  if (!tx.hasRowLocks) return query
  return query.forUpdate(of as never).$if(skipLocked, (locked) => locked.skipLocked())
}

/** For changes that must follow each other: excludes the same lock and {@link lockForUpdate}, but not {@link lockKeyShare}. */
export function lockNoKeyUpdate<DB, TB extends keyof DB, O>(
  tx: Tx,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return tx.hasRowLocks ? query.forNoKeyUpdate() : query
}

/** For what depends on the rows staying as they are: excludes all changes of them, and not others that do the same. */
export function lockShare<DB, TB extends keyof DB, O>(
  tx: Tx,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return tx.hasRowLocks ? query.forShare() : query
}

/** For what depends on the rows being there: excludes {@link lockForUpdate} and their deletion only. */
export function lockKeyShare<DB, TB extends keyof DB, O>(
  tx: Tx,
  query: SelectQueryBuilder<DB, TB, O>,
): SelectQueryBuilder<DB, TB, O> {
  return tx.hasRowLocks ? query.forKeyShare() : query
}

/**
 * As {@link lockKeyShare} for one row, but not before one that waits for {@link takeTurn}. PostgreSQL gives a shared lock of a row at once
 * although another one waits for the whole of it, so that one which ends something could wait for as long as others come. Advisory locks are given in
 * the order in which they were asked for; as a condition of the row this one is taken before the row is locked, and again at no cost.
 * @param turn a value and not the column: PostgreSQL may try the conditions in any order, on rows that are others' too, and would wait for theirs;
 *   nothing else in the database uses advisory locks of one number
 */
export function lockKeyShareInTurn<DB, TB extends keyof DB, O>(
  tx: Tx,
  query: SelectQueryBuilder<DB, TB, O>,
  turn: Int64,
): SelectQueryBuilder<DB, TB, O> {
  if (!tx.hasRowLocks) return query
  const isTaken = sql<boolean>`pg_advisory_xact_lock_shared(${turn}::bigint) is not null`
  return lockKeyShare(tx, query.where(isTaken))
}

/** Waits for those that have a row by {@link lockKeyShareInTurn}, and keeps new ones waiting; to be followed by {@link lockForUpdate}. */
export async function takeTurn(tx: Tx, turn: Int64): Promise<void> {
  if (tx.hasRowLocks) await sql`select pg_advisory_xact_lock(${turn}::bigint)`.execute(tx)
}
