import type { Clock } from '../lib/clock.js'
import type { SqlDialect } from './dialect/dialect.js'
import { type RawBuilder, sql } from './kysely.js'

/** Returns an expression for the time now, milliseconds since 1970, as part of a statement. */
export type DatabaseNow = () => RawBuilder<number>

/** The time of PostgreSQL, constant in a statement, so that indexes serve comparisons with it. */
export const postgresTime = 'floor(extract(epoch from statement_timestamp()) * 1000)::bigint'

/**
 * The time of leases and jobs. Nodes that share a database go by its clock, since theirs differ;
 * with the embedded database it is the clock of the process.
 */
export function databaseNow({ now }: Pick<SqlDialect, 'now'>, clock: Clock): DatabaseNow {
  if (now === null) return () => sql<number>`cast(${clock.now()} as bigint)`
  const shared = sql.raw<number>(now)
  return () => shared
}
