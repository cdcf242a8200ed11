/** The other side of {@link ProcedureThread}. */
import { parentPort, workerData } from 'node:worker_threads'
import { AppError } from '@hermod/protocol'
import { TableWriterCheck } from '../../checks/table-writers.js'
import { Database } from '../../database.js'
import { type Procedure, RetryProcedure } from '../../procedure.js'
import type { ProcedureCall } from '../dialect.js'
import { postgresDialect } from '../postgres.js'
import type {
  ProcedureRequest,
  ProcedureResponse,
  ProcedureThreadOptions,
} from './procedure-thread.js'

const { url, deadlineMs, checksProcedures } = workerData as ProcedureThreadOptions
const database = new Database(
  // Whoever uses a connection that was lost is told so.
  postgresDialect({ url, deadlineMs, poolSize: 1, onError() {} }),
  checksProcedures ? { writerCheck: new TableWriterCheck(), checksEnds: true } : {},
)
let turn: Promise<unknown> = Promise.resolve()

async function run({ module, name, input }: ProcedureCall): Promise<ProcedureResponse> {
  try {
    const found = (await import(module)) as Record<string, Procedure<unknown, unknown, null>>
    const procedure = found[name]
    if (!procedure) throw new Error(`${module} exports no procedure ${name}`)
    return { output: await database.procedure(procedure, input, null) }
  } catch (error) {
    if (error instanceof RetryProcedure) return { restart: error.detail }
    const isUnavailable = error instanceof AppError && error.errorName === 'storage_failed'
    const { message } = (isUnavailable ? error.cause : error) as Error
    return { failure: { message, isUnavailable } }
  }
}

async function serve(request: ProcedureRequest): Promise<void> {
  if (!('close' in request)) return parentPort?.postMessage(await run(request))
  await database[Symbol.asyncDispose]()
  parentPort?.close()
}

parentPort?.on('message', (request: ProcedureRequest) => {
  turn = turn.then(() => serve(request))
})
