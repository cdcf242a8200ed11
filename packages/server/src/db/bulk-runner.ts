import type { StatementRunner } from './checks/cache-check.js'
import type {
  AppendStatement,
  Bulk,
  BulkAppend,
  BulkQuery,
  BulkStatement,
  SqlDialect,
} from './dialect/dialect.js'
import type { CompiledQuery, QueryResult } from './kysely.js'
import {
  type BulkRows,
  compileOnce,
  type LastStatement,
  type ProcedureContext,
  runLast,
} from './procedure.js'

/** Runs bulk statements, each of which is compiled once. */
export class BulkRunner {
  readonly #dialect: SqlDialect
  readonly #bulkOf: (statement: Bulk) => BulkStatement
  readonly #appendOf: ((statement: BulkAppend) => AppendStatement) | undefined

  constructor(dialect: SqlDialect) {
    const { bulkAppend } = dialect
    this.#dialect = dialect
    this.#appendOf = bulkAppend && compileOnce((statement: BulkAppend) => bulkAppend(statement))
    this.#bulkOf = compileOnce((statement) => dialect.bulk(statement))
  }

  async run<Row>(db: StatementRunner, statement: Bulk, rows: BulkRows): Promise<QueryResult<Row>> {
    if (rows.length === 0) return { rows: [], numAffectedRows: 0n }
    const { sql, parameters } = this.#bulkOf(statement)
    return db.executeQuery<Row>(bulkQuery<Row>(sql, parameters(rows)))
  }

  /** Runs a bulk select outside of transactions. */
  async read<Row>(statement: Bulk, rows: BulkRows): Promise<Row[]> {
    if (rows.length === 0) return []
    const { sql, parameters } = this.#bulkOf(statement)
    const { name, readNow } = this.#dialect
    if (name === 'postgres') return (await readNow(sql, parameters(rows))) as Row[]
    return rows.flatMap((row) => readNow(sql, row) as Row[])
  }

  /** The context in which a procedure or its parts run in a transaction. */
  contextOf(runner: StatementRunner): ProcedureContext {
    const { rowLocks, name } = this.#dialect
    return {
      isRemote: name === 'postgres',
      hasRowLocks: rowLocks,
      run: async <Row>(statement: Bulk, rows: BulkRows) =>
        (await this.run<Row>(runner, statement, rows)).rows,
      change: async (statement, rows) =>
        Number((await this.run(runner, statement, rows)).numAffectedRows),
    }
  }

  /** Runs the last statements of a transaction. @returns the rows that each returned */
  runLast(
    runner: StatementRunner,
    last: readonly LastStatement[],
  ): Promise<readonly BulkRows[number][]> {
    const { run } = this.contextOf(runner)
    const compiled = this.#appendOf
    if (!compiled) return runLast(run, last)
    return runLast(run, last, async ({ append, heads, rows, more }) => {
      if (rows.length === 0) return []
      const { sql, parameters } = compiled(append)
      const query = bulkQuery<unknown>(sql, parameters(heads, rows, more))
      return (await runner.executeQuery<unknown>(query)).rows
    })
  }
}

/** The parts of a compiled query that Kysely requires and that a text of ours has not got. */
const emptyQuery = {
  query: { kind: 'RawNode', sqlFragments: [], parameters: [] },
  queryId: { queryId: 'hermod' },
}

/** A statement for {@link StatementRunner} from its text. */
export function textQuery<Row>(
  sql: string,
  parameters: readonly unknown[],
  bulk: BulkQuery = {},
): CompiledQuery<Row> {
  return { ...emptyQuery, ...bulk, sql, parameters } as unknown as CompiledQuery<Row>
}

function bulkQuery<Row>(sql: string, parameters: readonly unknown[]): CompiledQuery<Row> {
  return textQuery<Row>(sql, parameters, { isBulk: true })
}
