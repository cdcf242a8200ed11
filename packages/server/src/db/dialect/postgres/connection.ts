import type pg from 'pg'
import type { CompiledQuery, QueryResult } from '../../kysely.js'
import { rowMaker } from '../../rows.js'
import type { RemoteConnection } from '../dialect.js'
import { type RoundTripResult, type RoundTripStatement, sendInOneRoundTrip } from './round-trip.js'

interface WaitingStatement extends RoundTripStatement {
  resolve(result: RoundTripResult): void
  reject(error: unknown): void
}

/** The connection failed during a statement; the statement's outcome is unknown. */
export class ConnectionError extends Error {
  constructor(cause: unknown) {
    super((cause as Error).message, { cause })
    this.name = 'ConnectionError'
  }
}

const commit: RoundTripStatement = { sql: 'commit', parameters: [] }

/**
 * A connection of the pool, used by one caller. Statements that are issued without waiting share a
 * round trip; `begin` joins the first statement of a transaction, and {@link joinCommit} joins the
 * commit to the last ones.
 */
export class PostgresConnection implements RemoteConnection {
  /** The failure of the connection itself; it is of no more use then. */
  broken: Error | undefined
  #begin: string | undefined
  #waiting: WaitingStatement[] = []
  #joinsCommit = false
  #isCommitted = false
  /** Resolves when the round trips before are over. */
  #turn: Promise<unknown> = Promise.resolve()

  /**
   * @param brokenBy makes an error of the connection from one of the driver; null = the error is
   * the statement's
   */
  constructor(
    readonly client: pg.PoolClient,
    private readonly brokenBy: (error: unknown) => Error | null,
  ) {}

  begin(sql: string): void {
    this.#begin = sql
  }

  /** Ends the transaction; without statements the database never got a `begin`. */
  async end(sql: 'commit' | 'rollback'): Promise<void> {
    await this.#send()
    const isOpen = this.#begin === undefined && !this.#isCommitted
    this.#begin = undefined
    this.#joinsCommit = false
    this.#isCommitted = false
    if (isOpen) await this.#run({ sql, parameters: [] })
  }

  joinCommit(): void {
    this.#joinsCommit = true
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    const { columns, rows, count } = await this.#run({ sql, parameters })
    return { rows: rows.map(rowMaker(columns)) as Row[], numAffectedRows: BigInt(count) }
  }

  // biome-ignore lint/correctness/useYield: streaming is part of Kysely's interface
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error('read in pages instead: a stream would hold a connection of the pool')
  }

  async #run(statement: RoundTripStatement): Promise<RoundTripResult> {
    try {
      return await (statement.parameters.length > 0
        ? this.#runTogether(statement)
        : this.#inTurn(() => this.#runAlone(statement)))
    } catch (error) {
      const broken = this.brokenBy(error)
      if (!broken) throw error
      this.broken = broken
      throw broken
    }
  }

  /** A text without parameters may hold several statements. */
  async #runAlone({ sql }: RoundTripStatement): Promise<RoundTripResult> {
    for (const begin of this.#takeBegin()) await this.client.query(begin.sql)
    const answer = await this.client.query<unknown[]>({ text: sql, rowMode: 'array' })
    const last = (Array.isArray(answer) ? answer.at(-1) : answer) as pg.QueryArrayResult
    const { fields, rows, rowCount } = last
    return { columns: fields.map(({ name }) => name), rows, count: rowCount ?? 0 }
  }

  /** The driver takes one query at a time. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work)
    this.#turn = result.catch(() => {})
    return result
  }

  #runTogether(statement: RoundTripStatement): Promise<RoundTripResult> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ ...statement, resolve, reject }) === 1)
        // After the code that runs now, so that its statements go together.
        process.nextTick(() => void this.#send())
    })
  }

  /** Sends what waits when its turn comes. */
  #send(): Promise<void> {
    return this.#inTurn(() => this.#sendWaiting())
  }

  async #sendWaiting(): Promise<void> {
    const waiting = this.#waiting
    if (waiting.length === 0) return
    const before = this.#takeBegin()
    const after = this.#joinsCommit ? [commit] : []
    this.#joinsCommit = false
    this.#waiting = []
    try {
      const results = await sendInOneRoundTrip(this.client, [...before, ...waiting, ...after])
      this.#isCommitted = after.length > 0
      for (const [index, { resolve }] of waiting.entries())
        resolve(results[before.length + index] as RoundTripResult)
    } catch (error) {
      for (const { reject } of waiting) reject(error)
    }
  }

  /** Empty once the transaction has begun. */
  #takeBegin(): readonly RoundTripStatement[] {
    const sql = this.#begin
    this.#begin = undefined
    return sql === undefined ? [] : [{ sql, parameters: [] }]
  }
}
