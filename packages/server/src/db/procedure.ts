import type { Bulk, BulkAppend, BulkInsert } from './dialect/dialect.js'
import { positionsOf } from './rows.js'

/** The rows of a bulk statement, by the positions of its columns. */
export type BulkRows = readonly (readonly unknown[])[]

/**
 * The bulk statements that a procedure can run in its transaction. They run in the order in which
 * they are issued; after a failed statement the rest is refused. A remote database gets statements
 * that are issued without waiting in one round trip.
 */
export interface ProcedureContext {
  /** Each wait for a statement costs a round trip over a socket. */
  readonly isRemote: boolean
  /** Other transactions write while this one is open, so rows that it has read without a lock may change. */
  readonly hasRowLocks: boolean
  /** @returns what the statement returns, in no particular order; nothing for no rows */
  run<Row = never>(statement: Bulk, rows: BulkRows): Promise<Row[]>
  /** @returns how many rows were inserted or updated, for a statement that returns nothing */
  change(statement: Bulk, rows: BulkRows): Promise<number>
}

/** Rows to append to a log; see {@link BulkAppend}. */
export interface AppendedRows {
  readonly append: BulkAppend
  readonly heads: BulkRows
  readonly rows: BulkRows
  /** Rows of `append.more`; not empty when there is such a statement. */
  readonly more?: BulkRows
}

/**
 * A statement that ends a transaction, as data: a remote database gets it in the same round trip as
 * the commit.
 */
export type LastStatement = { readonly statement: Bulk; readonly rows: BulkRows } | AppendedRows

/** The end of a procedure. */
export interface ProcedureResult<Output> {
  /** Run in this order, then committed. When one of them fails nothing is stored. */
  readonly last: readonly LastStatement[]
  /**
   * Makes the output. The transaction may be committed by then, so it must not throw.
   * @param results the rows that each of the last statements returned
   */
  output(results: readonly (readonly unknown[])[]): Output
}

/** The place of a procedure. */
export interface ProcedureName {
  /** `import.meta.url` of the module that exports the procedure under `name`. */
  readonly module: string
  readonly name: string
}

/**
 * Code that runs at the writing connection as one transaction: on the embedded database in the
 * writer's thread, so that many statements cost one hop between threads; on PostgreSQL in the
 * calling thread. Input and output are plain data.
 *
 * The threads load the module of a procedure too, so it should import little.
 *
 * @typeParam Host an object of the caller that the procedure may use; null in another thread
 */
export interface Procedure<Input, Output, Host = never> extends ProcedureName {
  run(context: ProcedureContext, input: Input, host: Host | null): Promise<ProcedureResult<Output>>
}

/**
 * Rolls a procedure back for a reason that the caller can remove before it calls again. Crosses
 * between threads.
 * @param detail the reason, as plain data
 */
export class RetryProcedure extends Error {
  override readonly name = 'RetryProcedure'

  constructor(readonly detail: unknown) {
    super('the procedure has to run again')
  }
}

/**
 * Runs the last statements of a transaction without waiting between them.
 * @param append runs an append in one statement; default: in one for each table
 * @returns the rows that each statement returned
 */
export function runLast(
  run: ProcedureContext['run'],
  last: readonly LastStatement[],
  append = (each: AppendedRows) => appendByTable(run, each),
): Promise<readonly (readonly unknown[])[]> {
  return Promise.all(
    last.map((each) => ('append' in each ? append(each) : run<unknown>(each.statement, each.rows))),
  )
}

async function appendByTable(
  run: ProcedureContext['run'],
  { append, heads, rows, more }: AppendedRows,
): Promise<readonly unknown[]> {
  const moved = await run<{ app_id: string; position: number }>(append.heads, heads)
  const lastOf = new Map(moved.map(({ app_id, position }) => [app_id, position]))
  await run(append.rows, withPositions(append.rows, rows, lastOf))
  if (append.more && more) await run(append.more, withPositions(append.more, more, lastOf))
  return moved
}

/** @param lastOf the last position of each app */
function withPositions(
  { columns }: BulkInsert,
  rows: BulkRows,
  lastOf: ReadonlyMap<string, number>,
): BulkRows {
  const { app_id: app, position } = positionsOf(columns) as Record<string, number>
  return rows.map((row) =>
    row.map((value, index) =>
      index === position
        ? (lastOf.get(row[app as number] as string) ?? 0) - (value as number)
        : value,
    ),
  )
}

/** Compiles each statement of a dialect once. */
export function compileOnce<Statement extends object, Compiled>(
  compile: (statement: Statement) => Compiled,
): (statement: Statement) => Compiled {
  const compiled = new WeakMap<object, Compiled>()
  return (statement) => {
    const known = compiled.get(statement)
    if (known) return known
    const made = compile(statement)
    compiled.set(statement, made)
    return made
  }
}
