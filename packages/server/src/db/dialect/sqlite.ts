import { Worker } from 'node:worker_threads'
import { Mutex } from '../../lib/concurrency/mutex.js'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Driver,
  type Dialect as KyselyDialect,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from '../kysely.js'
import { type ProcedureName, RetryProcedure } from '../procedure.js'
import { rowMaker } from '../rows.js'
import type { BulkQuery, ProcedureCall, SqlDialect } from './dialect.js'
import { RequestThread } from './request-thread.js'
import { sqliteBulk } from './sqlite-bulk.js'
import {
  Checkpointer,
  type CheckpointLimits,
  type CheckpointThreads,
  checkpointLimits,
  walFrameBytes,
} from './sqlite-checkpointer.js'
import { ReaderConnection, setsOf } from './sqlite-reader.js'
import type { ScrubResult } from './sqlite-scrub.js'
import { seedStatistics } from './sqlite-statistics.js'
import type { WorkerOptions, WorkerRequest, WorkerResponse } from './sqlite-worker.js'

const readerCacheKiB = 32 * 1024
/**
 * After a page split SQLite visits every page of the cache at the commit, so a larger one costs the
 * writer more than it saves.
 */
const writerCacheKiB = 16 * 1024

const busyTimeout = 'busy_timeout = 10000'
const openPragmas = [busyTimeout, 'foreign_keys = on', 'trusted_schema = off']
const readerPragmas = [...openPragmas, `cache_size = -${readerCacheKiB}`, 'query_only = on']
const writerPragmas = [
  ...openPragmas,
  `cache_size = -${writerCacheKiB}`,
  'journal_mode = wal',
  'synchronous = full',
  // Checkpoints have their own thread.
  'wal_autocheckpoint = 0',
  // Deleted values are overwritten, so that an erasure leaves none in unused space (decision 080).
  'secure_delete = on',
]
const checkpointPragmas = [busyTimeout, 'synchronous = full', 'trusted_schema = off']

// Primary result codes (the low byte of the extended ones), https://www.sqlite.org/rescode.html
const unavailableCodes = new Set([
  5 /* BUSY */, 8 /* READONLY */, 10 /* IOERR */, 11 /* CORRUPT */, 13 /* FULL */,
  14 /* CANTOPEN */, 26 /* NOTADB */,
])

const ioError = 10
// SQLITE_CONSTRAINT_UNIQUE
const uniqueViolation = 2067
// SQLITE_CONSTRAINT_CHECK
const checkViolation = 275
/** The texts of sqlite3_errstr: a failure while rows are returned has no code. */
const codesOfTexts = [
  ['CHECK constraint failed', checkViolation],
  ['database is locked', 5],
  ['attempt to write a readonly database', 8],
  ['disk I/O error', ioError],
  ['database disk image is malformed', 11],
  ['database or disk is full', 13],
  ['unable to open database file', 14],
  ['file is not a database', 26],
] as const

class SqliteError extends Error {
  constructor(
    message: string,
    readonly errcode: number | undefined,
  ) {
    super(message)
    this.name = 'SqliteError'
  }
}

interface SqliteOptions {
  readonly checkpoints?: Partial<CheckpointLimits>
  /** A checkpoint failed; it will be tried again. */
  readonly onCheckpointError?: (error: unknown) => void
  /** A reader, perhaps of another program, lets the write-ahead log grow. */
  readonly onLogHeld?: (walBytes: number) => void
  /** The procedures that the writer's thread loads when it starts; default none. */
  readonly procedures?: readonly ProcedureName[]
}

/**
 * The embedded database: one writer on its own thread, and reads on the calling thread, where a
 * read from the page cache is cheaper than a hop between threads. WAL lets both run at once; a read
 * sees every transaction that was committed before it began.
 */
export function sqliteDialect(
  path: string,
  {
    checkpoints: limits = {},
    onCheckpointError: onError = () => {},
    onLogHeld: onHeld = () => {},
    procedures = [],
  }: SqliteOptions = {},
): SqlDialect {
  const reader = new ReaderConnection(path, readerPragmas)
  const { forceFrames } = { ...checkpointLimits, ...limits }
  // A restarted log gives the disk back what a reader has made it hold above this size.
  const sizeLimit = `journal_size_limit = ${forceFrames * walFrameBytes}`
  const writer = new ThreadConnection(path, [...writerPragmas, sizeLimit], procedures)
  const turns = new Mutex()
  const checkpoints = new Checkpointer({
    path,
    threads: checkpointThreads(new ThreadConnection(path, checkpointPragmas), writer, turns),
    limits,
    onError,
    onHeld,
  })
  const runProcedure = async (call: ProcedureCall) => {
    try {
      return await shared(turns, () => writer.run(call))
    } finally {
      checkpoints.wrote()
    }
  }
  return {
    name: 'sqlite',
    writes: embeddedDialect(() => new WriterDriver(writer, turns, checkpoints)),
    reads: embeddedDialect(() => new ReaderDriver(reader)),
    readNow: (sql, parameters) => reader.all(sql, parameters),
    longReads: embeddedDialect(() => new ThreadDriver(new ThreadConnection(path, readerPragmas))),
    rowLocks: false,
    numbersParameters: false,
    // One runs while the next one waits in the thread, which has no pause between them.
    concurrentBatches: 2,
    usersPerTransaction: 40,
    now: null,
    clusteredTable: 'without rowid',
    roomForChanges: '',
    listTables: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%'",
    afterSchema: seedStatistics,
    bulk: sqliteBulk,
    runProcedure,
    checkpoints: () => checkpoints.statistics,
    pauseCheckpoints: () => checkpoints.pause(),
    scrub: (from) => checkpoints.scrub(from),
    isTaken: (error) => resultCodeOf(error) === uniqueViolation,
    isRefused: (error) => resultCodeOf(error) === checkViolation,
    isRetryable: () => false,
    isUnavailable: (error) => unavailableCodes.has(resultCodeOf(error) & 0xff),
  }
}

/** @returns 0 for other errors */
function resultCodeOf(error: unknown): number {
  const { errcode, message = '' } = (error ?? {}) as { errcode?: number; message?: string }
  return errcode ?? codesOfTexts.find(([text]) => message.startsWith(text))?.[1] ?? 0
}

function embeddedDialect(createDriver: () => Driver): KyselyDialect {
  return {
    createAdapter: () => new TransactionalDdlAdapter(),
    createDriver,
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

/** Lets migrations run in a transaction: one that fails or is killed leaves nothing behind. */
class TransactionalDdlAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

abstract class TransactionDriver implements Driver {
  abstract init(): Promise<void>
  abstract acquireConnection(): Promise<DatabaseConnection>
  abstract releaseConnection(connection: DatabaseConnection): Promise<void>
  abstract destroy(): Promise<void>

  constructor(private readonly begin: string) {}

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(this.begin))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    try {
      await connection.executeQuery(CompiledQuery.raw('rollback'))
    } catch (error) {
      // After some failures (disk full, input/output error) SQLite has already rolled back, and no
      // transaction is open.
      if (!/no transaction is active/.test((error as Error).message)) throw error
    }
  }
}

/** A connection on a separate thread, for one transaction at a time. */
class ThreadDriver extends TransactionDriver {
  readonly #connection: ThreadConnection
  readonly #turns = new Mutex()

  constructor(connection: ThreadConnection) {
    super('begin')
    this.#connection = connection
  }

  async init(): Promise<void> {
    await this.#connection.open()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    await this.#turns.lock()
    this.#connection.revive()
    return this.#connection
  }

  async releaseConnection(): Promise<void> {
    this.#turns.unlock()
  }

  async destroy(): Promise<void> {
    await this.#connection.close()
  }
}

/** A handle on the writer's thread: exclusive for a transaction, shared for single statements. */
class WriterConnection implements DatabaseConnection {
  #isAlone = false

  constructor(
    private readonly thread: ThreadConnection,
    private readonly turns: Mutex,
  ) {}

  /** Before a transaction of several requests. */
  async takeAlone(): Promise<void> {
    await this.turns.lock()
    this.#isAlone = true
    this.thread.revive()
  }

  release(): void {
    if (this.#isAlone) this.turns.unlock()
    this.#isAlone = false
  }

  async executeQuery<Row>(query: CompiledQuery & BulkQuery): Promise<QueryResult<Row>> {
    if (this.#isAlone) return this.thread.executeQuery(query)
    return shared(this.turns, () => {
      this.thread.revive()
      return this.thread.executeQuery(query)
    })
  }

  streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    return this.thread.streamQuery()
  }
}

class WriterDriver extends TransactionDriver {
  readonly #thread: ThreadConnection
  readonly #turns: Mutex
  readonly #checkpoints: Checkpointer

  constructor(thread: ThreadConnection, turns: Mutex, checkpoints: Checkpointer) {
    // Immediate: a transaction that reads first and writes later must not find another write in between.
    super('begin immediate')
    this.#thread = thread
    this.#turns = turns
    this.#checkpoints = checkpoints
  }

  async init(): Promise<void> {
    await this.#thread.open()
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return new WriterConnection(this.#thread, this.#turns)
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    // Kysely gives back what the driver has given it.
    await (connection as WriterConnection).takeAlone()
    await super.beginTransaction(connection)
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    ;(connection as WriterConnection).release()
    this.#checkpoints.wrote()
  }

  /** The writer closes last and so removes the log. */
  async destroy(): Promise<void> {
    await this.#checkpoints.stop()
    await this.#thread.close()
    this.#checkpoints.release()
  }
}

/** Runs work of one request to the writer's thread; requests queue there. */
async function shared<T>(turns: Mutex, work: () => Promise<T>): Promise<T> {
  await turns.lockShared()
  try {
    return await work()
  } finally {
    turns.unlockShared()
  }
}

function checkpointThreads(
  own: ThreadConnection,
  writer: ThreadConnection,
  turns: Mutex,
): CheckpointThreads {
  const run = async (connection: ThreadConnection, mode = 'passive') => {
    connection.revive()
    const { rows } = await connection.executeQuery<{
      busy: number
      log: number
      checkpointed: number
    }>(CompiledQuery.raw(`pragma wal_checkpoint(${mode})`))
    const [{ busy = 1, log = 0, checkpointed = 0 } = {}] = rows
    return { frames: log, copied: checkpointed, isBusy: busy !== 0 }
  }
  return {
    look: () => run(own, 'noop'),
    pass: () => run(own),
    async sync(descriptor) {
      own.revive()
      await own.sync(descriptor)
    },
    copyAgain: (descriptor) => shared(turns, () => writer.copyAgain(descriptor)),
    finish: () => shared(turns, () => run(writer)),
    async scrub(descriptor, from) {
      await turns.lock()
      try {
        // Sends wait meanwhile, so a reader is not waited for.
        await writer.executeQuery(CompiledQuery.raw('pragma busy_timeout = 0'))
        const { frames, isBusy } = await run(writer, 'truncate')
        if (frames > 0 || isBusy) return 'held'
        const next = await writer.scrub(descriptor, from)
        await writer.executeQuery(CompiledQuery.raw('pragma shrink_memory'))
        return next
      } finally {
        await writer.executeQuery(CompiledQuery.raw(`pragma ${busyTimeout}`))
        turns.unlock()
      }
    },
    close: () => own.close(),
  }
}

/** A connection on a separate thread; see {@link RequestThread}. */
class ThreadConnection implements DatabaseConnection {
  readonly #thread: RequestThread<WorkerRequest, WorkerResponse>

  constructor(
    private readonly path: string,
    pragmas: readonly string[],
    procedures: readonly ProcedureName[] = [],
  ) {
    this.#thread = new RequestThread({
      start: () =>
        new Worker(new URL('./sqlite-worker.js', import.meta.url), {
          workerData: {
            path,
            pragmas: pragmas.map((pragma) => `pragma ${pragma}`),
            procedures: procedures.map(({ module, name }) => ({ module, name })),
          } satisfies WorkerOptions,
          // The thread has statements and one batch of rows, so small heaps are enough and keep the
          // process small.
          resourceLimits: { maxYoungGenerationSizeMb: 4, maxOldGenerationSizeMb: 256 },
        }),
      failure: (cause: (Error & { errcode?: number }) | null) =>
        new SqliteError(
          cause?.message ?? 'the database thread has stopped',
          cause?.errcode ?? ioError,
        ),
    })
  }

  async open(): Promise<void> {
    this.revive()
    await this.executeQuery(CompiledQuery.raw('select 1'))
  }

  /** Between two transactions, never inside of one. */
  revive(): void {
    this.#thread.revive()
  }

  async executeQuery<Row>(query: CompiledQuery & BulkQuery): Promise<QueryResult<Row>> {
    const { sql } = query
    const response = await this.#request({ sql, rows: setsOf(query) })
    if (!('rows' in response)) throw new Error('the database thread answered something else')
    const rows = response.rows.map(rowMaker(response.columns)) as Row[]
    return { rows, numAffectedRows: BigInt(response.changes) }
  }

  /** Runs a procedure as one transaction. */
  async run(procedure: ProcedureCall): Promise<unknown> {
    this.revive()
    const response = await this.#request({ procedure })
    if (!('output' in response)) throw new Error('the database thread answered something else')
    return response.output
  }

  /** Waits until a file is on the disk. */
  async sync(descriptor: number): Promise<void> {
    await this.#request({ sync: descriptor })
  }

  /** Overwrites unused bytes of pages, between two transactions. */
  async scrub(descriptor: number, from: number): Promise<ScrubResult> {
    const response = await this.#request({ scrub: { descriptor, from } })
    if (!('output' in response)) throw new Error('the database thread answered something else')
    return response.output as ScrubResult
  }

  /** Copies pages from the log into the database file again, between two transactions. */
  async copyAgain(descriptor: number): Promise<void> {
    this.revive()
    await this.#request({ copyAgain: { walPath: `${this.path}-wal`, descriptor } })
  }

  // biome-ignore lint/correctness/useYield: part of Kysely's interface, of no use across threads
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('the database thread does not stream')
  }

  async close(): Promise<void> {
    await this.#thread.close()
  }

  async #request(request: WorkerRequest): Promise<WorkerResponse> {
    const response = await this.#thread.ask(request)
    if ('error' in response) throw new SqliteError(response.error.message, response.error.code)
    if ('restart' in response) throw new RetryProcedure(response.restart)
    return response
  }
}

class ReaderDriver extends TransactionDriver {
  constructor(private readonly connection: ReaderConnection) {
    super('begin')
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.connection
  }

  // Reads run to their end within one turn of the event loop, so callers can share the connection.
  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.connection.close()
  }
}
