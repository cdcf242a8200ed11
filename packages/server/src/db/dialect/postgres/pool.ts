/** The connections to PostgreSQL: their settings, and Kysely's driver over them. */
import { once } from 'node:events'
import type pg from 'pg'
import { toInt64 } from '../../../lib/ids/int64.js'
import type { DatabaseConnection, Driver, TransactionSettings } from '../../kysely.js'
import { watchedClients } from './client.js'
import { ConnectionError, PostgresConnection } from './connection.js'
import { ConnectionCheck } from './connection-check.js'
import type { ClientSource, ConnectionGate } from './gate.js'
import type { ReadQuery, ReadRows } from './reads.js'
import { type RoundTripResult, sendInOneRoundTrip } from './round-trip.js'
import type { ConnectionWatch } from './watch.js'

const int8Oid = 20
const connectTimeoutMs = 5_000
/** PostgreSQL ends a statement this long before the deadline of its connection, so that it can say so. */
const statementMarginMs = 500
/** A transaction of a node that is halted or out of reach loses its locks after this time. */
const idleTransactionTimeoutMs = 3_000
/**
 * Shorter than idleTransactionTimeoutMs: a transaction of the halted node that waits for such a
 * lock ends first. Otherwise it would get the lock and hold it for as long again. Other
 * transactions that wait this long start again.
 */
const lockTimeoutMs = 2_000
/**
 * For connections without a deadline, on which the limits of the role would hold otherwise. As
 * statements, since a pooler may leave out the options.
 */
const longLimits =
  'set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 30000'
/** The server too notices a node that is out of reach and frees its connections. */
const reachOptions =
  '-c tcp_user_timeout=5000 -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 -c tcp_keepalives_count=2'
const keepAliveDelayMs = 5_000
/** A halted server never acknowledges Terminate, so closing has a timeout. */
const closeTimeoutMs = 1_000
/**
 * The statements of the service look rows up by their keys. Plans that read and hash whole tables
 * look cheap to a planner with young statistics, and a prepared statement keeps its plan. Compiling
 * a plan to machine code takes longer than any of them runs.
 */
const plannerOptions =
  '-c enable_hashjoin=off -c enable_mergejoin=off -c random_page_cost=1.1 -c jit=off'
/**
 * Written pages go to the disk at once: https://www.postgresql.org/docs/15/runtime-config-resource.html
 * Otherwise the system collects a gigabyte of them and writes it while commits wait.
 */
const writeOptions = '-c backend_flush_after=256kB'
/** Settings of the database or the role that would give statements another meaning. */
const meaningOptions =
  '-c array_nulls=on -c standard_conforming_strings=on -c default_transaction_isolation=read\\ committed'
/** A new connection plans its statements again, so connections of a busy minute are kept for the next one. */
const idleConnectionTimeoutMs = 600_000
/** The driver would let this parameter of the URL replace the options of the service. */
const urlOptions = /(?<=[?&])options=([^&#]*)&?/
/** After a refused connection no further ones are opened for this time. */
const fewerConnectionsMs = 10_000
const tooManyConnections = '53300'
const sqlState = /^[0-9A-Z]{5}$/
/**
 * Connection exceptions, time limits of transactions and sessions, and a server that ends: with
 * each of them PostgreSQL closes the connection.
 */
const endsConnection = /^(08|25P03|25P04|57P)/

export interface PoolOptions {
  readonly url: string
  readonly poolSize: number
  /** An idle connection was lost; the next caller gets a new one. */
  onError(error: Error): void
  /**
   * Ends a connection of another pool, since PostgreSQL gives this one none.
   * @returns false when it has none to end
   */
  readonly makeRoom?: () => Promise<boolean>
  readonly gate?: ConnectionGate
}

/** The pool of connections, made when it is first needed. */
export class LazyPool implements ClientSource {
  #pool: Promise<pg.Pool> | undefined
  #growth: NodeJS.Timeout | undefined
  readonly #listeners: (() => void)[] = []

  /** @param watch gives statements their deadline; without it they have none */
  constructor(
    private readonly options: PoolOptions,
    private readonly watch: ConnectionWatch | null = null,
  ) {}

  /** Calls the listener when a connection was lost. */
  onLostConnection(listener: () => void): void {
    this.#listeners.push(listener)
  }

  open(): Promise<pg.Pool> {
    this.#pool ??= this.#create()
    return this.#pool
  }

  /**
   * Takes a connection. When PostgreSQL gives no further one, the caller waits for one of those
   * that are open.
   */
  async acquire(): Promise<pg.PoolClient> {
    this.options.gate?.requireOpen()
    const pool = await this.open()
    for (;;) {
      try {
        return await pool.connect()
      } catch (error) {
        if (sqlStateOf(error) !== tooManyConnections) throw error
        if (pool.totalCount > 0) this.#openAtMost(pool, pool.totalCount)
        else if (!(await this.options.makeRoom?.())) throw error
      }
    }
  }

  release(client: pg.PoolClient, broken: Error | undefined): void {
    client.release(broken)
  }

  /** Ends a connection if there are others. @returns false when there are none */
  async giveUpOne(): Promise<boolean> {
    const pool = await this.open()
    const client = await this.acquire()
    const others = pool.totalCount - 1
    if (others > 0) this.#openAtMost(pool, others)
    const signal = AbortSignal.timeout(closeTimeoutMs)
    const isEnded = once(client, 'end', { signal }).catch(() => {})
    client.release(others > 0)
    if (others > 0) await isEnded
    return others > 0
  }

  #openAtMost(pool: pg.Pool, connections: number): void {
    pool.options.max = connections
    this.#growth ??= setTimeout(() => {
      this.#growth = undefined
      pool.options.max = this.options.poolSize
    }, fewerConnectionsMs).unref()
  }

  /** Opens two connections, since a pooler shows when it gives both the same backend. */
  async checkTwo(): Promise<void> {
    const first = await this.acquire()
    try {
      if (this.options.poolSize > 1) (await (await this.open()).connect()).release()
    } catch (error) {
      if (sqlStateOf(error) !== tooManyConnections) throw error
    } finally {
      first.release()
    }
  }

  async close(): Promise<void> {
    const pool = await this.#pool
    this.#pool = undefined
    clearTimeout(this.#growth)
    const timer = setTimeout(() => this.watch?.close(), closeTimeoutMs)
    await pool?.end()
    clearTimeout(timer)
    this.watch?.close()
  }

  /** Reads on any connection, outside of transactions. */
  async rows(query: ReadQuery): Promise<ReadRows> {
    const client = await this.acquire()
    try {
      const [result] = await sendInOneRoundTrip(client, [query])
      client.release()
      return result as RoundTripResult
    } catch (error) {
      const broken = brokenBy(error)
      client.release(broken ?? undefined)
      throw broken ?? error
    }
  }

  async #create(): Promise<pg.Pool> {
    const postgres = await loadPostgres()
    const { options, watch } = this
    const types = {
      getTypeParser: ((oid: number, format?: 'text') =>
        oid === int8Oid
          ? toInt64
          : postgres.types.getTypeParser(oid, format)) as typeof postgres.types.getTypeParser,
    }
    const lockOptions = watch
      ? `-c idle_in_transaction_session_timeout=${idleTransactionTimeoutMs} -c lock_timeout=${lockTimeoutMs}`
      : ''
    const [, added = ''] = urlOptions.exec(options.url) ?? []
    const ownOptions = `${meaningOptions} ${plannerOptions} ${writeOptions} ${reachOptions} ${lockOptions}`
    const connectionCheck = new ConnectionCheck(watch !== null)
    const prepare = async (client: pg.PoolClient) => {
      await connectionCheck.check(client)
      if (!watch) await client.query(longLimits)
      await options.gate?.admit(client)
    }
    const pool = new postgres.Pool({
      connectionString: options.url.replace(urlOptions, ''),
      max: options.poolSize,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: idleConnectionTimeoutMs,
      statement_timeout: watch ? watch.deadlineMs - statementMarginMs : false,
      options: `${ownOptions} ${decodeURIComponent(added.replaceAll('+', ' '))}`,
      application_name: 'hermod',
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveDelayMs,
      types,
      verify: (client, done) => void prepare(client).then(() => done(), done),
      Client: watch ? watchedClients(postgres, watch) : postgres.Client,
    })
    const lost = () => {
      options.gate?.lost()
      for (const listener of this.#listeners) listener()
    }
    pool.on('acquire', (client) => watch?.mark(client, 'used'))
    pool.on('release', (error, client) => {
      watch?.mark(client, 'idle')
      if (error) lost()
    })
    // A connection that is lost while in use fails its next statement; an event without a listener
    // would end the process.
    pool.on('connect', (client) => client.on('error', lost))
    return pool.on('error', options.onError)
  }
}

/** Kysely's driver over a pool. */
export class PoolDriver implements Driver {
  constructor(private readonly source: ClientSource) {}

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PostgresConnection> {
    return new PostgresConnection(await this.source.acquire(), brokenBy)
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
    this.source.release(client, broken)
  }

  async destroy(): Promise<void> {
    await this.source.close()
  }
}

/** Kysely gives back the connection that the driver has given it. */
function toPostgres(connection: DatabaseConnection): PostgresConnection {
  return connection as PostgresConnection
}

/** Loads the driver late, so that the embedded engine does not pay for it. */
export async function loadPostgres(): Promise<typeof pg> {
  return (await import('pg')).default
}

/**
 * @returns null when the error is the statement's: only those have an SQLSTATE, and leave the
 * connection open
 */
function brokenBy(error: unknown): Error | null {
  const code = sqlStateOf(error)
  return sqlState.test(code) && !endsConnection.test(code) ? null : new ConnectionError(error)
}

/** Returns the SQLSTATE of an error of the driver; "" when it has none. */
export function sqlStateOf(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? '')
}
