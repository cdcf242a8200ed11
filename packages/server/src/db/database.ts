import { AppError } from '@hermod/protocol'
import { IdsRunOut } from '../lib/ids/ids.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { BulkRunner } from './bulk-runner.js'
import type { CacheCheck, StatementRunner } from './checks/cache-check.js'
import type { Bulk, ConnectionGuard, SqlDialect } from './dialect/dialect.js'
import { DatabaseHealth } from './health.js'
import { type Compilable, Kysely, type RawBuilder, sql } from './kysely.js'
import { type Param, Prepared, PreparedPage, placeholder } from './prepared.js'
import type { Procedure, ProcedureContext } from './procedure.js'
import type { Schema } from './schema.js'
import {
  type DatabaseChecks,
  type Queryable,
  type StatementTx,
  TransactionRunner,
  type Tx,
} from './transaction.js'

export type { Param, Prepared, PreparedPage } from './prepared.js'
export type { DatabaseChecks, Queryable, StatementTx, Tx } from './transaction.js'

const maxAttempts = 6
const retryDelayMs = 5
const retryAfterSeconds = 2

/**
 * The database as stores use it: reads, transactions, prepared and bulk statements, and errors in
 * the service's terms.
 */
export class Database implements AsyncDisposable {
  /** Reads committed data. The engine refuses writes where it can; use {@link transaction}. */
  readonly reader: Queryable
  readonly #writer: Queryable
  readonly #bulk: BulkRunner
  readonly #transactions: TransactionRunner

  readonly cacheCheck: CacheCheck | null

  constructor(
    readonly dialect: SqlDialect,
    checks: DatabaseChecks = {},
    /** The outcome of the latest commits. */
    readonly health = new DatabaseHealth(),
  ) {
    this.cacheCheck = checks.cacheCheck ?? null
    this.#bulk = new BulkRunner(dialect)
    this.#writer = new Kysely<Schema>({ dialect: dialect.writes })
    this.reader = dialect.reads ? new Kysely<Schema>({ dialect: dialect.reads }) : this.#writer
    const writer = this.#writer
    this.#transactions = new TransactionRunner({ dialect, writer, bulk: this.#bulk, checks })
  }

  /** For the migrator and for statements outside the stores. */
  get writer(): Queryable {
    return this.#writer
  }

  /**
   * Runs `work` in one transaction and resolves when it is durable. It may run more than once: a
   * deadlock or a serialization failure starts it again, so it must have no effect except its
   * statements.
   *
   * @throws AppError storage_failed when the database failed. Nothing is stored then, unless the
   * connection was lost during the commit:
   *   the outcome is unknown
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.health.write(() => this.#repeat(() => this.#transactions.run(work)))
  }

  /**
   * Runs a transaction of one statement. It saves the round trips of begin and commit; on SQLite
   * other writers do not wait for the answer.
   *
   * @throws as {@link transaction}, and an error when there is a second statement
   */
  statement<T>(work: (tx: StatementTx) => Promise<T>): Promise<T> {
    return this.health.write(() => this.#repeat(() => this.#transactions.runStatement(work)))
  }

  /** Repeats an attempt that the database says may succeed when repeated. */
  async #repeat<T>(attemptOnce: () => Promise<T>): Promise<T> {
    const startedAt = performance.now()
    for (let attempt = 1; ; attempt++) {
      try {
        return await attemptOnce()
      } catch (error) {
        const isOutOfIds = error instanceof IdsRunOut
        const afterMs = performance.now() - startedAt
        const again =
          attempt < maxAttempts && (isOutOfIds || this.dialect.isRetryable(error, afterMs))
        if (!again) throw this.#translate(error, 'write')
        if (isOutOfIds) await error.renewal
        await new Promise((resolve) => setTimeout(resolve, Math.random() * retryDelayMs * attempt))
      }
    }
  }

  /**
   * Runs a transaction that may violate a unique key.
   * @returns false when it did; nothing is stored then
   * @throws as {@link transaction}
   */
  async transactionUnlessTaken(work: (tx: Tx) => Promise<void>): Promise<boolean> {
    try {
      await this.transaction(work)
      return true
    } catch (error) {
      if (this.dialect.isTaken(error)) return false
      throw error
    }
  }

  /**
   * Runs a read and translates failures of the engine. Every failure is a rejected promise, so that
   * reads which begin together can be awaited together.
   */
  read<T>(work: (reader: Queryable) => MaybePromise<T>): MaybePromise<T> {
    try {
      const found = work(this.reader)
      return found instanceof Promise ? found.catch((error) => this.#failedRead(error)) : found
    } catch (error) {
      return Promise.reject(this.#translate(error, 'read'))
    }
  }

  #failedRead(error: unknown): never {
    throw this.#translate(error, 'read')
  }

  /** Checks that reading and writing can begin. @throws when one of them cannot */
  async ping(): Promise<void> {
    const ways = this.reader === this.#writer ? [this.#writer] : [this.reader, this.#writer]
    await Promise.all(ways.map((way) => sql`select 1`.execute(way)))
  }

  /** The settings of the database that decide whether a commit is durable. */
  async durabilitySettings(): Promise<{
    readonly synchronousCommit: string
    readonly fsync: boolean
    /** The standbys that commits wait for, as the setting names them; "" = none. */
    readonly synchronousStandbys: string
  }> {
    if (this.dialect.name === 'sqlite')
      return { synchronousCommit: 'on', fsync: true, synchronousStandbys: '' }
    const { rows } = await sql<{ commit: string; fsync: string; standbys: string }>`
      select current_setting('synchronous_commit') as commit, current_setting('fsync') as fsync,
        current_setting('synchronous_standby_names') as standbys`.execute(this.#writer)
    return {
      synchronousCommit: rows[0]?.commit ?? '',
      fsync: rows[0]?.fsync === 'on',
      synchronousStandbys: rows[0]?.standbys ?? '',
    }
  }

  /** Guards all connections from now on, on a database that has some. */
  guardConnections(guard: ConnectionGuard<Queryable>): void {
    this.dialect.guard?.({
      get refusal() {
        return guard.refusal
      },
      lost: () => guard.lost(),
      admit: (db) => guard.admit(db as unknown as Queryable),
    })
  }

  /** Runs work without a deadline for its statements, such as a change of the schema. */
  async withoutDeadline<T>(work: (db: Queryable) => Promise<T>): Promise<T> {
    const { longWrites } = this.dialect
    if (!longWrites) return work(this.#writer)
    const own = new Kysely<Schema>({ dialect: longWrites })
    try {
      return await work(own)
    } finally {
      await own.destroy()
    }
  }

  /** Runs long reads on one state of the data. Other callers do not wait for them. */
  async snapshot<T>(work: (reader: Queryable) => Promise<T>): Promise<T> {
    const { longReads } = this.dialect
    const own = longReads ? new Kysely<Schema>({ dialect: longReads }) : null
    try {
      return await (own ?? this.reader)
        .transaction()
        .setIsolationLevel('repeatable read')
        .execute(async (tx) => {
          for (const statement of this.dialect.longReadSettings ?? [])
            await sql.raw(statement).execute(tx)
          return work(tx)
        })
    } catch (error) {
      throw this.#translate(error, 'read')
    } finally {
      await own?.destroy()
    }
  }

  /** A statement that is compiled once; see {@link Prepared}. */
  prepared<P extends object, Row>(
    build: (db: Queryable, param: Param<P>) => Compilable<Row>,
  ): Prepared<P, Row> {
    return new Prepared(build(this.reader, placeholder as Param<P>).compile(), this)
  }

  /**
   * A {@link prepared} statement for pages, with one text for each length: SQLite compiles a
   * statement again whenever a value is bound to its limit, which takes longer than running it.
   */
  preparedPage<P extends object, Row>(
    build: (db: Queryable, param: Param<P>, limit: RawBuilder<number>) => Compilable<Row>,
  ): PreparedPage<P, Row> {
    return new PreparedPage((limit) =>
      this.prepared<P, Row>((db, param) => build(db, param, sql.lit(limit))),
    )
  }

  /**
   * Runs a procedure as one transaction; like {@link transaction} it may run more than once.
   * @throws as {@link transaction}
   */
  async procedure<Input, Output, Host>(
    procedure: Procedure<Input, Output, Host>,
    input: Input,
    host: Host,
  ): Promise<Output> {
    const { runProcedure } = this.dialect
    if (!runProcedure)
      return this.health.write(() =>
        this.#repeat(() => this.#transactions.runProcedure(procedure, input, host)),
      )
    const { module, name } = procedure
    try {
      return (await this.health.write(() => runProcedure({ module, name, input }))) as Output
    } catch (error) {
      throw this.#translate(error, 'write')
    }
  }

  /**
   * Runs a bulk statement in a transaction, or a bulk select as a read. Its plan depends neither on
   * the number of rows nor on statistics, which a young table lacks.
   * @returns what the statement returns, in no particular order; nothing for no rows
   */
  async bulk<Row = never>(
    db: Queryable,
    statement: Bulk,
    rows: readonly (readonly unknown[])[],
  ): Promise<Row[]> {
    if (db === this.reader) return this.#bulk.read<Row>(statement, rows)
    return (await this.#bulk.run<Row>(db, statement, rows)).rows
  }

  /** The context in which parts of a procedure run in a transaction. */
  contextOf(runner: StatementRunner): ProcedureContext {
    return this.#bulk.contextOf(runner)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.reader !== this.#writer) await this.reader.destroy()
    await this.#writer.destroy()
    // Kysely ends only what it has used itself.
    await this.dialect.close?.()
  }

  #translate(error: unknown, kind: 'read' | 'write'): unknown {
    if (!this.dialect.isUnavailable(error)) return error
    this.health.failed(kind, error)
    return new AppError('storage_failed', undefined, { cause: error, retryAfterSeconds })
  }
}
