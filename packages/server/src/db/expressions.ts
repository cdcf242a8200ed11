import { type RawBuilder, sql } from './kysely.js'

/** The greater one of a column and a value; the databases name the function differently. */
export function greater(column: string, value: RawBuilder<number> | number): RawBuilder<number> {
  return sql<number>`case when ${sql.ref(column)} < ${value} then ${value} else ${sql.ref(column)} end`
}
