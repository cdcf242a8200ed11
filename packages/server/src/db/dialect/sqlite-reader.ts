import { DatabaseSync } from '@photostructure/sqlite'
import type { CompiledQuery, DatabaseConnection, QueryResult } from '../kysely.js'
import type { BulkQuery } from './dialect.js'
import { type Bound, type SqliteConnection, StatementCache } from './sqlite-statement.js'

/** The sets of parameters that a statement is run with, one after the other. */
export function setsOf({
  parameters,
  isBulk,
}: CompiledQuery & BulkQuery): readonly (readonly unknown[])[] {
  return isBulk ? (parameters as readonly (readonly unknown[])[]) : [parameters]
}

/** The reading connection of the calling thread. */
export class ReaderConnection implements DatabaseConnection {
  readonly #statements = new StatementCache()

  #database: SqliteConnection | undefined

  /** Opened at the first read, when the writer has made the file. */
  constructor(
    private readonly path: string,
    private readonly pragmas: readonly string[],
  ) {}

  all(sql: string, parameters: readonly unknown[]): unknown[] {
    const { statement, toRow } = this.#statements.prepare(this.#open(), sql)
    // Rows as arrays cross into JavaScript in two thirds of the time that objects take.
    const rows = statement.all(...(parameters as Bound)) as unknown as unknown[][]
    return rows.map(toRow)
  }

  async executeQuery<Row>(query: CompiledQuery & BulkQuery): Promise<QueryResult<Row>> {
    return { rows: setsOf(query).flatMap((set) => this.all(query.sql, set)) as Row[] }
  }

  async *streamQuery<Row>({
    sql,
    parameters,
  }: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    // A new statement: the cached one may run again while this one is still being read.
    const statement = this.#open().prepare(sql)
    for (const row of statement.iterate(...(parameters as Bound))) yield { rows: [row as Row] }
  }

  close(): void {
    this.#statements.clear()
    this.#database?.close()
    this.#database = undefined
  }

  #open(): SqliteConnection {
    if (this.#database) return this.#database
    const database = new DatabaseSync(this.path)
    for (const pragma of this.pragmas) database.exec(`pragma ${pragma}`)
    this.#database = database
    return database
  }
}
