import {
  type Driver,
  type Dialect as KyselyDialect,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
} from '../kysely.js'
import { postgresTime } from '../database-now.js'
import type { SqlDialect } from './dialect.js'
import { bulkAppend, bulkStatement } from './postgres/bulk.js'
import { answersInTime } from './postgres/client.js'
import { ConnectionError } from './postgres/connection.js'
import { connectionLimit, connectionNotice, postgresProblem } from './postgres/database-check.js'
import { ConnectionGate } from './postgres/gate.js'
import {
  LazyPool,
  loadPostgres,
  PoolDriver,
  type PoolOptions,
  sqlStateOf,
} from './postgres/pool.js'
import { CombinedReads } from './postgres/reads.js'
import { ConnectionWatch, type StallObserver } from './postgres/watch.js'

const defaultDeadlineMs = 5_000
/** Opened apart from the pool: for one run without a deadline, and for messages between nodes. */
const extraConnections = 2
/** Bounds the repeats of a call that waits for locks to about the time of one statement. */
const lockRepeatsForMs = 3_000
// https://www.postgresql.org/docs/15/errcodes-appendix.html
const retryableCodes = new Set([
  '40001' /* serialization_failure */,
  '40P01' /* deadlock_detected */,
])
/** After lockTimeoutMs. */
const lockNotAvailable = '55P03'
const uniqueViolation = '23505'
const checkViolation = '23514'
/**
 * Classes: connection exception, login refused, no such database, insufficient resources, operator
 * intervention, system error; and a server that only reads, or has closed an idle transaction, and
 * locks that are not given.
 */
const unavailableClasses = /^(08|28|3D|53|57|58|XX|25006|25P03|25P04|55P03)/
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

/** In the schema where new tables are created. */
const listTables = `
  select relname::text as name from pg_class
  where relnamespace = (select oid from pg_namespace where nspname = current_schema())
    and relkind in ('r', 'p') and not exists (
      select 1 from pg_depend
      where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e')`

interface PostgresOptions extends Omit<PoolOptions, 'gate'> {
  /** A statement without an answer ends after this time; default 5,000. */
  readonly deadlineMs?: number | undefined
  readonly stalls?: StallObserver
  /** Leases and jobs go by the clock of the process, for tests that set the time. */
  readonly goesByProcess?: boolean | undefined
}

export function postgresDialect(options: PostgresOptions): SqlDialect {
  const watch = new ConnectionWatch({
    deadlineMs: options.deadlineMs ?? defaultDeadlineMs,
    isAnswering: async (timeoutMs) =>
      answersInTime(await loadPostgres(), { connectionString: options.url }, timeoutMs),
    observer: options.stalls ?? { gaveUp() {}, stalled() {} },
  })
  const gate = new ConnectionGate((source) => networkDialect(() => new PoolDriver(source)))
  const pool = new LazyPool({ ...options, gate }, watch)
  const reads = new CombinedReads((query) => pool.rows(query))
  const withoutDeadline = networkDialect(
    () =>
      new PoolDriver(
        new LazyPool({
          ...options,
          gate,
          poolSize: 1,
          makeRoom: () => pool.giveUpOne(),
        }),
      ),
  )
  const now = options.goesByProcess ? null : postgresTime
  return {
    name: 'postgres',
    writes: networkDialect(() => new PoolDriver(pool)),
    longReads: withoutDeadline,
    longWrites: withoutDeadline,
    readNow: (sql, parameters) => reads.all(sql, parameters),
    close: () => pool.close(),
    onLostConnection: (listener) => pool.onLostConnection(listener),
    guard: (guard) => gate.set(guard),
    rowLocks: true,
    numbersParameters: true,
    // Long reads go through whole tables.
    longReadSettings: ['set local enable_hashjoin = on', 'set local enable_mergejoin = on'],
    concurrentBatches: 2,
    usersPerTransaction: 60,
    now,
    clusteredTable: '',
    // A row that stays on its page is changed without its indexes:
    // https://www.postgresql.org/docs/15/storage-hot.html
    roomForChanges: 'with (fillfactor = 50)',
    listTables,
    findProblem: async (db) => {
      await pool.checkTwo()
      return postgresProblem(db)
    },
    connectionLimit,
    findNotice: (db) => connectionNotice(db, options.poolSize + extraConnections),
    // A statement that waits for a table makes all later ones wait behind it.
    migrationLocks: {
      limit: `set local lock_timeout = '1s'`,
      isRefused: (error) => sqlStateOf(error) === lockNotAvailable,
    },
    bulk: (statement) => bulkStatement(statement, now),
    bulkAppend,
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
