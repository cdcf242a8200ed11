import type { DatabaseSync } from '@photostructure/sqlite'
import { type RowMaker, rowMaker } from '../rows.js'

export type SqliteConnection = InstanceType<typeof DatabaseSync>
export type Statement = ReturnType<SqliteConnection['prepare']>

/** A statement with rows as arrays, and the names of its columns. */
interface CachedStatement {
  readonly statement: Statement
  /** Empty for a statement that returns no rows. */
  readonly columns: readonly string[]
  readonly toRow: RowMaker
}

const maxCached = 500

/** The statements of one connection, each prepared once. */
export class StatementCache {
  readonly #statements = new Map<string, CachedStatement>()

  prepare(connection: SqliteConnection, sql: string): CachedStatement {
    const known = this.#statements.get(sql)
    if (known) return known
    if (this.#statements.size >= maxCached) this.clear()
    const made = prepareForArrays(connection, sql)
    this.#statements.set(sql, made)
    return made
  }

  clear(): void {
    this.#statements.clear()
  }
}

function prepareForArrays(connection: SqliteConnection, sql: string): CachedStatement {
  const statement = connection.prepare(sql)
  const columns = statement.columns().map((column) => column.name ?? '')
  statement.setReturnArrays(true)
  return { statement, columns, toRow: rowMaker(columns) }
}

/** The parameters of a statement. */
export type Bound = Parameters<Statement['all']>
