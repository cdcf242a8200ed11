import type { Clock } from '../lib/clock.js'
import type { SqlDialect } from './dialect/dialect.js'
import { type RawBuilder, sql } from './kysely.js'

/** Returns an expression for the time now, milliseconds since 1970, as part of a statement. */
export type DatabaseNow = () => RawBuilder<number>

/**
 * The time of leases. Nodes that share a database go by its clock, at the start of the statement,
 * since theirs differ; with the embedded database it is the clock of the process.
 */
export function databaseNow({ name }: Pick<SqlDialect, 'name'>, clock: Clock): DatabaseNow {
  return name === 'sqlite' ? () => sql<number>`${clock.now()}` : () => sharedNow
}

/** Constant in a statement, so that an index serves a comparison with it. */
const sharedNow = sql<number>`(extract(epoch from statement_timestamp()) * 1000)::bigint`
