/**
 * The thread of a connection to the embedded database: a commit or a long read waits for the disk
 * here and not in the event loop that answers calls. A request is a statement, a statement over
 * many rows, a procedure, or a sync; answers return in order.
 */
import { fsyncSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { DatabaseSync } from '@photostructure/sqlite'
import { isOutOfDescriptors } from '../../lib/system/out-of-descriptors.js'
import {
  compileOnce,
  type Procedure,
  type ProcedureContext,
  type ProcedureName,
  RetryProcedure,
  runLast,
} from '../procedure.js'
import { rowMaker } from '../rows.js'
import type { Bulk, ProcedureCall } from './dialect.js'
import type { closing } from './request-thread.js'
import { sqliteBulk } from './sqlite-bulk.js'
import { scrubPages } from './sqlite-scrub.js'
import { type Bound, StatementCache } from './sqlite-statement.js'
import { copyAgain } from './sqlite-wal.js'

interface StatementRequest {
  readonly sql: string
  /** The statement is run once for each row of parameters. */
  readonly rows: readonly (readonly unknown[])[]
}

/** A request to the thread of a database, answered in the order of arrival. */
export type WorkerRequest =
  | StatementRequest
  | { readonly procedure: ProcedureCall }
  /** The descriptor of a file that is to be on the disk. */
  | { readonly sync: number }
  | { readonly copyAgain: { readonly walPath: string; readonly descriptor: number } }
  | { readonly scrub: { readonly descriptor: number; readonly from: number } }
  | typeof closing

/** Columns and rows apart: the names cross the threads once. */
interface Rows {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly unknown[])[]
  readonly changes: number
}

export type WorkerResponse =
  | Rows
  | { readonly output: unknown }
  | { readonly error: { readonly message: string; readonly code: number | undefined } }
  | { readonly restart: unknown }

/** Data that the thread of a database starts with. */
export interface WorkerOptions {
  readonly path: string
  readonly pragmas: readonly string[]
  /** Loaded before the first request is served; others when they are first run. */
  readonly procedures: readonly ProcedureName[]
}

const { path, pragmas, procedures: known } = workerData as WorkerOptions
const database = new DatabaseSync(path)
for (const pragma of pragmas) database.exec(pragma)
const statements = new StatementCache()
const procedures = new Map<string, Procedure<unknown, unknown>>()
const bulkOf = compileOnce(sqliteBulk)
let turn = Promise.resolve()
/** By a statement, and not ended by one. */
let isBegun = false

/** After a failed statement no other one runs: SQLite may have ended the transaction. */
function procedureContext(): ProcedureContext {
  let failure: unknown
  const runNext = (statement: Bulk, rows: readonly (readonly unknown[])[]): Rows => {
    if (failure !== undefined) throw failure
    try {
      return runAll({ sql: bulkOf(statement).sql, rows })
    } catch (error) {
      failure = error
      throw error
    }
  }
  return {
    isRemote: false,
    hasRowLocks: false,
    async run<Row>(statement: Bulk, rows: readonly (readonly unknown[])[]): Promise<Row[]> {
      const { columns, rows: values } = runNext(statement, rows)
      return values.map(rowMaker(columns)) as Row[]
    },
    async change(statement, rows) {
      return runNext(statement, rows).changes
    },
  }
}

function runAll({ sql, rows: sets }: StatementRequest): Rows {
  const { statement, columns } = statements.prepare(database, sql)
  const rows: unknown[][] = []
  let changes = 0
  for (const set of sets as readonly Bound[]) {
    if (columns.length > 0)
      for (const row of statement.all(...set) as unknown as unknown[][]) rows.push(row)
    else changes += Number(statement.run(...set).changes)
  }
  return { columns, rows, changes }
}

/**
 * Refuses statements after a failure with which SQLite ended the transaction: they must not be
 * stored alone.
 */
function runInTransaction(request: StatementRequest): Rows {
  const { sql } = request
  if (sql === 'commit' || sql === 'rollback') isBegun = false
  else if (isBegun && !database.isTransaction)
    throw new Error('a failure has ended the transaction')
  const rows = runAll(request)
  if (sql.startsWith('begin')) isBegun = true
  return rows
}

async function serve(
  request: Exclude<WorkerRequest, { readonly close: true }>,
): Promise<WorkerResponse> {
  if ('procedure' in request) return { output: await runProcedure(request.procedure) }
  if ('sync' in request) fsyncSync(request.sync)
  else if ('scrub' in request)
    return { output: scrubPages(request.scrub.descriptor, request.scrub.from) }
  else if ('copyAgain' in request)
    copyAgain(database, request.copyAgain.walPath, request.copyAgain.descriptor)
  else return runInTransaction(request)
  return { output: null }
}

async function load({ module, name }: ProcedureName): Promise<Procedure<unknown, unknown>> {
  const procedure = ((await import(module)) as Record<string, Procedure<unknown, unknown>>)[name]
  if (!procedure) throw new Error(`${module} exports no procedure ${name}`)
  procedures.set(`${module}#${name}`, procedure)
  return procedure
}

async function runProcedure({ module, name, input }: ProcedureCall): Promise<unknown> {
  const procedure = procedures.get(`${module}#${name}`) ?? (await load({ module, name }))
  database.exec('begin immediate')
  try {
    const context = procedureContext()
    const { last, output } = await procedure.run(context, input, null)
    const results = await runLast(context.run, last)
    database.exec('commit')
    return output(results)
  } catch (error) {
    // After some failures (disk full, input/output error) SQLite has already rolled back.
    if (database.isTransaction) database.exec('rollback')
    throw error
  }
}

// Loaded now, so that no call waits for reading files: the thread pool may be busy, or all
// descriptors in use.
await Promise.all(known.map(load))

parentPort?.on('message', (request: WorkerRequest) => {
  if ('close' in request) {
    database.close()
    parentPort?.close()
    // Loading a procedure's module is asynchronous; the queue keeps the next request from running in between.
    // A failed COMMIT can leave the transaction open; the driver's ROLLBACK then closes it.
  } else turn = turn.then(() => serve(request)).then(answer, fail)
})

function answer(response: WorkerResponse): void {
  parentPort?.postMessage(response)
}

function fail(error: unknown): void {
  const { message, errcode } = error as { message: string; errcode?: number }
  answer(
    error instanceof RetryProcedure
      ? { restart: error.detail }
      : { error: { message, code: errcode } },
  )
  // Node remembers a failed `import()` as long as the thread lives, so another thread takes its place.
  if (isOutOfDescriptors(error)) parentPort?.close()
}
