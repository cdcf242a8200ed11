import type pg from 'pg'
import { toInt64 } from '../../lib/ids/int64.js'
import {
  type DatabaseConnection,
  type Driver,
  type Dialect as KyselyDialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type TransactionSettings,
} from '../kysely.js'
import type { SqlDialect } from './dialect.js'
import { bulkAppend, bulkStatement } from './postgres/bulk.js'
import { answersInTime, watchedClients } from './postgres/client.js'
import { ConnectionError, PostgresConnection } from './postgres/connection.js'
import { ProcedureThread } from './postgres/procedure-thread.js'
import { CombinedReads, type ReadQuery, type ReadRows } from './postgres/reads.js'
import { ConnectionWatch, type StallObserver } from './postgres/watch.js'

const int8Oid = 20
const connectTimeoutMs = 5_000
/** PostgreSQL ends a statement so much earlier than its connection would be given up, so that it can say so. */
const statementMarginMs = 500
const defaultDeadlineMs = 5_000
const maxNamedStatements = 500
/** A transaction whose node has stopped in the middle, or is out of reach, gives up its locks after this time. */
const idleTransactionTimeoutMs = 3_000
/**
 * A transaction of that node which waits for another one of it ends before: it would take over the locks, and keep them for as long
 * again. Everybody else who waits so long begins anew.
 */
const lockTimeoutMs = 2_000
/** So that a call which waits for locks is answered in about the time that one statement may take. */
const lockRepeatsForMs = 3_000
/** Of transactions that may take long. */
const patientIdleTransactionTimeoutMs = 30_000
/** A node that is out of reach is noticed by the server too, and its connections are free for others. */
const reachOptions =
  '-c tcp_user_timeout=5000 -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=2'
const keepAliveDelayMs = 5_000
/** For the server's part in the end of connections. */
const closeTimeoutMs = 1_000
/**
 * The statements of the service look rows up by their keys. Plans that read and hash whole tables look cheap to a planner whose
 * statistics are young, and a prepared statement keeps its plan. Compiling a plan to machine code takes longer than any of them runs.
 */
const plannerOptions =
  '-c enable_hashjoin=off -c enable_mergejoin=off -c random_page_cost=1.1 -c jit=off'
/**
 * Pages that are written to make room go on to the disk at once: https://www.postgresql.org/docs/15/runtime-config-resource.html
 * Otherwise the system keeps them until it writes a gigabyte of them together, and commits wait behind it.
 */
const writeOptions = '-c backend_flush_after=256kB'
/** One that is new plans its statements anew, so those of a busy minute are kept for the next one. */
const idleConnectionTimeoutMs = 600_000

// https://www.postgresql.org/docs/15/errcodes-appendix.html
const retryableCodes = new Set([
  '40001' /* serialization_failure */,
  '40P01' /* deadlock_detected */,
])
const sqlState = /^[0-9A-Z]{5}$/
/** After lockTimeoutMs. */
const lockNotAvailable = '55P03'
const uniqueViolation = '23505'
const checkViolation = '23514'
/** Classes: connection exception, login refused, no such database, insufficient resources, operator intervention, system error; and a server that only reads, or has closed an idle transaction, and locks that are not given. */
const unavailableClasses = /^(08|28|3D|53|57|58|XX|25006|25P03|55P03)/
const unavailableErrno = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EMFILE',
  'ENFILE',
])
/** node-postgres reports a lost or unobtainable connection by text only. */
const unavailableText =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable/

export function postgresDialect(options: PoolOptions): SqlDialect {
  const watch = new ConnectionWatch({
    deadlineMs: options.deadlineMs ?? defaultDeadlineMs,
    probe: async (timeoutMs) =>
      answersInTime(await loadPostgres(), { connectionString: options.url }, timeoutMs),
    observer: options.stalls ?? { gaveUp() {}, stalled() {} },
  })
  const pool = new LazyPool(options, watch)
  const reads = new CombinedReads((query) => pool.rows(query))
  const patient = networkDialect(
    () => new PoolDriver(new LazyPool({ ...options, poolSize: 1 }, watch, true)),
  )
  const beside = new ProcedureThread(options)
  return {
    name: 'postgres',
    writes: networkDialect(() => new PoolDriver(pool)),
    longReads: patient,
    longWrites: patient,
    readNow: (sql, parameters) => reads.all(sql, parameters),
    close: async () => {
      await Promise.all([beside.close(), pool.close()])
    },
    rowLocks: true,
    numbersParameters: true,
    // Long is what these reads may take, and whole tables is what they read.
    longReadSettings: ['set local enable_hashjoin = on', 'set local enable_mergejoin = on'],
    // Written so that it goes together with the statements after it.
    withoutDisk: {
      sql: "select set_config('synchronous_commit', $1, true)",
      parameters: ['off'],
    },
    concurrentBatches: 2,
    usersPerTransaction: 60,
    clusteredTable: '',
    // A row that stays on its page is changed without its indexes: https://www.postgresql.org/docs/15/storage-hot.html
    roomForChanges: 'with (fillfactor = 50)',
    bulk: bulkStatement,
    bulkAppend,
    runBeside: (call) => beside.run(call),
    isTaken: (error) => sqlStateOf(error) === uniqueViolation,
    isRefused: (error) => sqlStateOf(error) === checkViolation,
    isRetryable: (error, afterMs) => {
      const code = sqlStateOf(error)
      return code === lockNotAvailable ? afterMs < lockRepeatsForMs : retryableCodes.has(code)
    },
    isUnavailable: (error) => {
      if (error instanceof ConnectionError) return true
      const code = sqlStateOf(error)
      return (
        unavailableClasses.test(code) ||
        unavailableErrno.has(code) ||
        (error instanceof Error && unavailableText.test(error.message))
      )
    },
  }
}

function networkDialect(createDriver: () => Driver): KyselyDialect {
  return {
    createAdapter: () => new PostgresAdapter(),
    createDriver,
    createIntrospector: (db) => new PostgresIntrospector(db),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  }
}

/** Loaded here so that the embedded engine does not pay for it. */
async function loadPostgres(): Promise<typeof pg> {
  return (await import('pg')).default
}

function sqlStateOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? '')
}

/**
 * Statements that recur are prepared once per connection under a name, which spares PostgreSQL parsing and planning them again.
 * Names are per text and process; connections that do not know one yet prepare it on first use.
 */
class StatementNames {
  readonly #names = new Map<string, string>()

  nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql)
    if (known !== undefined || this.#names.size >= maxNamedStatements) return known
    const name = `h${this.#names.size}`
    this.#names.set(sql, name)
    return name
  }
}

interface PoolOptions {
  readonly url: string
  readonly poolSize: number
  /** A statement without an answer ends after this time; default 5,000. */
  readonly deadlineMs?: number | undefined
  /** As {@link ProcedureThreadOptions.checksProcedures}. */
  readonly checksProcedures?: boolean
  readonly stalls?: StallObserver
  /** An idle connection was lost; the next caller gets a new one. */
  onError(error: Error): void
}

/** The pool of connections, made when it is first needed. */
class LazyPool {
  readonly #names = new StatementNames()
  #pool: Promise<pg.Pool> | undefined

  /** @param isPatient its statements may take as long as they do */
  constructor(
    private readonly options: PoolOptions,
    private readonly watch: ConnectionWatch,
    private readonly isPatient = false,
  ) {}

  open(): Promise<pg.Pool> {
    this.#pool ??= this.#create()
    return this.#pool
  }

  async close(): Promise<void> {
    const pool = await this.#pool
    this.#pool = undefined
    // A server that has stopped says nothing to a farewell.
    const timer = setTimeout(() => this.watch.cut(this.isPatient), closeTimeoutMs)
    await pool?.end()
    clearTimeout(timer)
  }

  #prepared(sql: string, parameters: readonly unknown[]): pg.QueryConfig {
    const name = parameters.length > 0 ? this.#names.nameOf(sql) : undefined
    return { text: sql, values: parameters as unknown[], ...(name === undefined ? {} : { name }) }
  }

  /** On any connection, outside of transactions. */
  async rows({ sql, parameters }: ReadQuery): Promise<ReadRows> {
    const pool = await this.open()
    const { fields, rows } = await pool.query<unknown[]>({
      ...this.#prepared(sql, parameters),
      rowMode: 'array',
    })
    return { columns: fields.map(({ name }) => name), rows }
  }

  async #create(): Promise<pg.Pool> {
    const postgres = await loadPostgres()
    const { options, watch, isPatient } = this
    const types = {
      getTypeParser: ((oid: number, format?: 'text') =>
        oid === int8Oid
          ? toInt64
          : postgres.types.getTypeParser(oid, format)) as typeof postgres.types.getTypeParser,
    }
    const lockOptions = isPatient
      ? `-c idle_in_transaction_session_timeout=${patientIdleTransactionTimeoutMs}`
      : `-c idle_in_transaction_session_timeout=${idleTransactionTimeoutMs} -c lock_timeout=${lockTimeoutMs}`
    const pool = new postgres.Pool({
      connectionString: options.url,
      max: options.poolSize,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: idleConnectionTimeoutMs,
      statement_timeout: isPatient ? false : watch.deadlineMs - statementMarginMs,
      options: `${plannerOptions} ${writeOptions} ${reachOptions} ${lockOptions}`,
      application_name: 'hermod',
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveDelayMs,
      types,
      Client: watchedClients(postgres, watch, isPatient),
    })
    pool.on('acquire', (client) => watch.mark(client, 'used'))
    pool.on('release', (_, client) => watch.mark(client, 'idle'))
    // A connection that is lost in a caller's hands: its next statement fails, and an event that nobody hears would end the process.
    pool.on('connect', (client) => client.on('error', () => {}))
    return pool.on('error', options.onError)
  }
}

/** @returns null when the error is the statement's: others have no SQLSTATE */
function brokenBy(error: unknown): Error | null {
  return sqlState.test(sqlStateOf(error)) ? null : new ConnectionError(error)
}

class PoolDriver implements Driver {
  constructor(private readonly pool: LazyPool) {}

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    const pool = await this.pool.open()
    return new PostgresConnection(await pool.connect(), brokenBy)
  }

  async beginTransaction(
    connection: DatabaseConnection,
    { isolationLevel }: TransactionSettings,
  ): Promise<void> {
    const level = isolationLevel ? ` isolation level ${isolationLevel}` : ''
    toPostgres(connection).begin(`begin${level}`)
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await toPostgres(connection).end('commit')
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    if (!toPostgres(connection).broken) await toPostgres(connection).end('rollback')
  }

  async releaseConnection(connection: DatabaseConnection): Promise<void> {
    const { client, broken } = toPostgres(connection)
    client.release(broken)
  }

  async destroy(): Promise<void> {
    await this.pool.close()
  }
}

/** Kysely gives back what the driver has given it. */
function toPostgres(connection: DatabaseConnection): PostgresConnection {
  return connection as PostgresConnection
}
