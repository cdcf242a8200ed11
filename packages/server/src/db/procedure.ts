import type { Bulk, BulkAppend } from './dialect/dialect.js'

/**
 * What a procedure can do to the database: bulk statements of its own transaction. They run in the order in which they are issued, and
 * after the first that fails no other one does. Where the database is reached over a socket, those that are issued without waiting for
 * one another go together.
 */
export interface ProcedureContext {
  /** Whether other transactions write while this one is open, so that what it has read without a lock may change. */
  readonly hasRowLocks: boolean
  /** @returns what the statement returns, in no particular order; nothing for no rows */
  run<Row = never>(statement: Bulk, rows: readonly (readonly unknown[])[]): Promise<Row[]>
  /** @returns how many rows were inserted or updated, for a statement that returns nothing */
  change(statement: Bulk, rows: readonly (readonly unknown[])[]): Promise<number>
  /** In one statement; only where the database has one for it. @returns what the statement for the heads returns */
  readonly append?: <Head>(
    statement: BulkAppend,
    heads: readonly (readonly unknown[])[],
    rows: readonly (readonly unknown[])[],
  ) => Promise<Head[]>
  /**
   * Has the transaction end with the statements that are issued next without waiting for one another, of which there must be one at
   * least; when one of them fails nothing is stored. Only where the database is reached over a socket, to spare an exchange. What the
   * procedure throws after them undoes nothing.
   */
  readonly commitWithNext?: () => void
}

/** Where a procedure is found. */
export interface ProcedureName {
  /** `import.meta.url` of the module that exports the procedure under `name`. */
  readonly module: string
  readonly name: string
}

/**
 * Code that runs where the writing connection is, as one transaction: with the embedded database inside the writer's thread, so that
 * many statements cost one hop between threads; with PostgreSQL in the calling thread, or in one for work in the background. Input and
 * output are plain data.
 *
 * The module of a procedure is loaded by these threads too, so it should import little.
 *
 * @typeParam Host what the caller lends to the procedure; null where the procedure runs in another thread
 */
export interface Procedure<Input, Output, Host = never> extends ProcedureName {
  /**
   * False: a loss of power may undo it, unless something that waits for the disk is committed after it, which takes along all that was
   * committed before. For what is found undone then and is done again, and has told nobody. Default: true.
   */
  readonly waitsForDisk?: boolean
  run(context: ProcedureContext, input: Input, host: Host | null): Promise<Output>
}

/**
 * Undoes a procedure for a reason that the caller can do something about, and call again. Crosses between threads.
 * @param detail plain data that says what the caller is to do
 */
export class ProcedureRestart extends Error {
  override readonly name = 'ProcedureRestart'

  constructor(readonly detail: unknown) {
    super('to be run again')
  }
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
