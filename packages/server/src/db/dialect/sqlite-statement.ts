import type { DatabaseSync } from '@photostructure/sqlite'

export type Connection = InstanceType<typeof DatabaseSync>
export type Statement = ReturnType<Connection['prepare']>

/** A statement whose rows come as arrays, with the names of their columns. */
export interface CachedStatement {
  readonly statement: Statement
  /** Empty for a statement that returns no rows. */
  readonly columns: readonly string[]
}

export function prepareForArrays(connection: Connection, sql: string): CachedStatement {
  const statement = connection.prepare(sql)
  const columns = statement.columns().map((column) => column.name ?? '')
  statement.setReturnArrays(true)
  return { statement, columns }
}
