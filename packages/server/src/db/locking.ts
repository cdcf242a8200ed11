/**
 * Row locks, from the strongest to the weakest. Each adds its clause to a select where transactions run at once; SQLite has one writer,
 * whose transaction need not lock anything.
 */

import type { Tx } from './database.js'
import type { SelectQueryBuilder } from './kysely.js'

interface LockOptions<Table> {
  /** The tables, or their aliases, whose rows are locked; all by default. */
  readonly of?: readonly Table[]
  /** Leaves out the rows that another transaction has locked, instead of waiting for it. */
  readonly skipLocked?: boolean
}

/** For changes that end something: excludes every other lock of the rows. */
export function lockForUpdate<DB, TB extends keyof DB, O>(
  tx: Tx,
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
