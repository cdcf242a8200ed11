import { AppError } from '@hermod/protocol'
import { IdsRunOut } from '../lib/ids/ids.js'
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import type { CacheCheck, StatementRunner } from './checks/cache-check.js'
import { watchStatements } from './checks/statement-check.js'
import type { TableWriterCheck } from './checks/table-writers.js'
import type {
  AppendStatement,
  Bulk,
  BulkAppend,
  BulkQuery,
  BulkStatement,
  ProcedureCall,
  RemoteConnection,
  SqlDialect,
} from './dialect/dialect.js'
import { DatabaseHealth } from './health.js'
import {
  type Compilable,
  type CompiledQuery,
  type DatabaseConnection,
  DummyDriver,
  Kysely,
  type QueryResult,
  type RawBuilder,
  sql,
  Transaction,
} from './kysely.js'
import {
  compileOnce,
  type LastStatement,
  type Procedure,
  type ProcedureContext,
  type ProcedureName,
  runLast,
} from './procedure.js'
import type { Schema } from './schema.js'

/** What is done around the commit of a transaction. A transaction that is run again starts without any. */
export interface CommitHooks {
  /**
   * Runs after the transaction's work; it may lock what no other code locks earlier.
   * @param run its last statements run after all others, with the commit
   */
  beforeCommit(run: () => Promise<readonly LastStatement[]>): void
  /**
   * Runs once the transaction is durable, before its caller goes on; also when the outcome of the commit is unknown or its last
   * statements have failed, so it must do no harm if nothing was stored. Not after any other rollback.
   * @param cache the cache that `run` invalidates, see {@link CacheCheck}
   */
  afterCommit(run: () => void, cache?: string): void
}

/** An open transaction; it must not be used after the function that received it has returned. */
export type Tx = Transaction<Schema> &
  CommitHooks & {
    /** As {@link SqlDialect.rowLocks}, for the functions of locking.ts. */
    readonly hasRowLocks: boolean
  }

/** A transaction of one statement, see {@link Database.statement}. */
export type StatementTx = Transaction<Schema> & Pick<Tx, 'afterCommit' | 'hasRowLocks'>

/** Where a statement may run: an open transaction, or the reader. */
export type Queryable = Kysely<Schema>

const maxAttempts = 6
const retryDelayMs = 5
const retryAfterSeconds = 2

/** What is looked at while statements run, for development and tests; nothing where a check is left out. */
export interface DatabaseChecks {
  readonly cacheCheck?: CacheCheck
  readonly writerCheck?: TableWriterCheck
  /** Whether a transaction fails whose statements were not all waited for. */
  readonly checksEnds?: boolean
}

/** One place for what every store needs: reads, transactions, prepared and bulk statements, and errors in the service's terms. */
export class Database implements AsyncDisposable {
  /** Reads of committed data. Writing is refused where the engine can refuse it; use {@link transaction}. */
  readonly reader: Queryable
  readonly #writer: Queryable
  readonly #bulkOf: (statement: Bulk) => BulkStatement
  readonly #appendOf: ((statement: BulkAppend) => AppendStatement) | undefined

  readonly cacheCheck: CacheCheck | null
  readonly #writerCheck: TableWriterCheck | null
  readonly #checksEnds: boolean

  constructor(
    readonly dialect: SqlDialect,
    checks: DatabaseChecks = {},
    /** What became of the latest commits. */
    readonly health = new DatabaseHealth(),
  ) {
    this.cacheCheck = checks.cacheCheck ?? null
    this.#writerCheck = checks.writerCheck ?? null
    this.#checksEnds = checks.checksEnds ?? false
    const { bulkAppend } = dialect
    this.#appendOf = bulkAppend && compileOnce((statement: BulkAppend) => bulkAppend(statement))
    this.#bulkOf = compileOnce((statement) => dialect.bulk(statement))
    this.#writer = new Kysely<Schema>({ dialect: dialect.writes })
    this.reader = dialect.reads ? new Kysely<Schema>({ dialect: dialect.reads }) : this.#writer
    this.#writerCheck?.watch(this.#writer.getExecutor())
  }

  /** For the migrator and for statements outside the stores. */
  get writer(): Queryable {
    return this.#writer
  }

  /**
   * Runs `work` in one transaction and resolves when it is durable. It may run more than once: a deadlock or a serialization failure
   * starts it again, so it must have no effect beside its statements.
   *
   * @throws AppError storage_failed when the database could not do it; then nothing of it is stored, unless the connection was lost
   *   during the commit, in which case the outcome is unknown
   */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.health.write(() => this.#repeat(() => this.#attempt(work)))
  }

  /**
   * Runs one statement that is a transaction by itself. It spares the exchanges of begin and commit, and with SQLite other writers
   * need not wait until the answer is here.
   *
   * @throws as {@link transaction}, and an error when there is a second statement
   */
  statement<T>(work: (tx: StatementTx) => Promise<T>): Promise<T> {
    return this.health.write(() => this.#repeat(() => this.#attemptStatement(work)))
  }

  /** Does over what the database asks to be done over. */
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

  async #attempt<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const before: (() => Promise<readonly LastStatement[]>)[] = []
    const after: (() => void)[] = []
    let isCommitting = false
    let isOver = false
    try {
      return await this.#writer.transaction().execute(async (transaction) => {
        const connection = await transaction.getExecutor().provideConnection(async (held) => held)
        const { open, watched } = this.#open(connection, { isOver: () => isOver, after })
        const tx: Tx = Object.assign(open, {
          beforeCommit: (run: () => Promise<readonly LastStatement[]>) => void before.push(run),
        })
        try {
          const result = await work(tx)
          const last: LastStatement[] = []
          for (const run of before) last.push(...(await run()))
          watched.requireRules()
          isCommitting = last.length > 0 && commitWithNext(connection)
          await this.#runLast(tx.getExecutor(), last)
          watched.requireRules()
          isCommitting = true
          return result
        } finally {
          // Also where some of its statements are still answered: nothing may follow the rollback.
          isOver = true
        }
      })
    } finally {
      if (isCommitting) for (const run of after) run()
    }
  }

  async #attemptStatement<T>(work: (tx: StatementTx) => Promise<T>): Promise<T> {
    const after: (() => void)[] = []
    let isUsed = false
    /** @returns whether the one statement was asked for before */
    const use = () => {
      const wasUsed = isUsed
      isUsed = true
      return wasUsed
    }
    try {
      return await this.#writer.getExecutor().provideConnection(async (connection) => {
        const { open, watched } = this.#open(connection, { isOver: use, after })
        const result = await work(open)
        watched.requireRules()
        return result
      })
    } finally {
      if (use()) for (const run of after) run()
    }
  }

  /** What a connection is lent as: looked at by the checks that are on, with what is left to the time after the commit. */
  #open(
    connection: DatabaseConnection,
    { isOver, after }: { isOver(): boolean; readonly after: (() => void)[] },
  ) {
    const unqueued = this.#unqueued(connection, isOver)
    const watched = this.#watch(unqueued.getExecutor())
    const open: StatementTx = Object.assign(unqueued, {
      hasRowLocks: this.dialect.rowLocks,
      afterCommit: (run: () => void, cache?: string) => {
        after.push(run)
        if (cache !== undefined) watched.invalidated(cache)
      },
    })
    return { open, watched }
  }

  /**
   * A transaction whose statements do not wait for one another: connections run what they are given in order, and take together what
   * comes together. Kysely's own would give the next statement to the connection when the one before it is answered.
   */
  #unqueued(connection: DatabaseConnection, isOver: () => boolean): Transaction<Schema> {
    const dialect = this.dialect.writes
    const executor = this.#writer.getExecutor().withConnectionProvider({
      provideConnection: async (use) => {
        if (isOver()) throw new Error('the transaction is over')
        return use(connection)
      },
    })
    return new Transaction({ config: { dialect }, dialect, driver: new DummyDriver(), executor })
  }

  /** Has the checks that are on look at the statements of one transaction. */
  #watch(runner: StatementRunner) {
    this.#writerCheck?.watch(runner)
    const caches = this.cacheCheck?.watch(runner)
    const statements = this.#checksEnds ? watchStatements(runner) : null
    return {
      invalidated: (cache: string) => caches?.invalidated(cache),
      /** To be called before the commit. @throws Error when the statements have broken a rule */
      requireRules() {
        statements?.requireEnd()
        caches?.requireInvalidations()
      },
    }
  }

  /**
   * A transaction that may run into a unique key that is taken.
   * @returns false when it did; then nothing of it is stored
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
   * Runs a read and turns failures of the engine into the service's terms. Whatever fails is a promise that is rejected, so that reads
   * which are begun together can be waited for together.
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

  /** Asks whether reading and writing can begin. @throws when one of them cannot */
  async ping(): Promise<void> {
    const ways = this.reader === this.#writer ? [this.#writer] : [this.reader, this.#writer]
    await Promise.all(ways.map((way) => sql`select 1`.execute(way)))
  }

  /** How much of a commit is promised by how the database is set up. */
  async durabilitySettings(): Promise<{
    readonly synchronousCommit: string
    readonly fsync: boolean
  }> {
    if (this.dialect.name === 'sqlite') return { synchronousCommit: 'on', fsync: true }
    const { rows } = await sql<{ commit: string; fsync: string }>`
      select current_setting('synchronous_commit') as commit, current_setting('fsync') as fsync`.execute(
      this.#writer,
    )
    return { synchronousCommit: rows[0]?.commit ?? '', fsync: rows[0]?.fsync === 'on' }
  }

  /** Runs what takes as long as it does, such as a change of the schema. */
  async unhurried<T>(work: (db: Queryable) => Promise<T>): Promise<T> {
    const { longWrites } = this.dialect
    if (!longWrites) return work(this.#writer)
    const own = new Kysely<Schema>({ dialect: longWrites })
    try {
      return await work(own)
    } finally {
      await own.destroy()
    }
  }

  /** Runs long reads on one state of the data, without keeping other callers waiting. */
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
   * As {@link prepared}, for pages. Their length is written into the text, so that there is a statement for each length that is asked for:
   * SQLite compiles a statement anew whenever a value is bound to its limit, which takes longer than to run it.
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
    if (runProcedure) return this.#runElsewhere(runProcedure, procedure, input)
    return this.transaction((tx) =>
      tx.getExecutor().provideConnection(async (connection) => {
        const runner: StatementRunner = {
          executeQuery: (query) => connection.executeQuery(query),
        }
        const watched = this.#watch(runner)
        const { withoutDisk } = this.dialect
        const [, { last, output }] = await Promise.all([
          procedure.waitsForDisk === false &&
            withoutDisk &&
            runner.executeQuery({ ...emptyQuery, ...withoutDisk } as unknown as CompiledQuery),
          procedure.run(this.contextOf(runner), input, host),
        ])
        watched.requireRules()
        if (last.length > 0) commitWithNext(connection)
        const results = await this.#runLast(runner, last)
        watched.requireRules()
        return output(results)
      }),
    )
  }

  /** As {@link procedure}, for much work that no call waits for: never in the calling thread. */
  async procedureBeside<Input, Output>(
    procedure: Procedure<Input, Output>,
    input: Input,
  ): Promise<Output> {
    return this.#runElsewhere(this.dialect.runBeside, procedure, input)
  }

  async #runElsewhere<Output>(
    run: (call: ProcedureCall) => Promise<unknown>,
    { module, name }: ProcedureName,
    input: unknown,
  ): Promise<Output> {
    try {
      return (await this.health.write(() => run({ module, name, input }))) as Output
    } catch (error) {
      throw this.#translate(error, 'write')
    }
  }

  /**
   * Runs a bulk statement in a transaction, or a bulk select as a read. Statements about the users of a list are written so: their plan
   * does not depend on the length of the list, nor on statistics that a young table has not got yet.
   * @returns what the statement returns, in no particular order; nothing for no rows
   */
  async bulk<Row = never>(
    db: Queryable,
    statement: Bulk,
    rows: readonly (readonly unknown[])[],
  ): Promise<Row[]> {
    return (await this.#bulk<Row>(db, statement, rows)).rows
  }

  async #bulk<Row>(
    db: StatementRunner,
    statement: Bulk,
    rows: readonly (readonly unknown[])[],
  ): Promise<QueryResult<Row>> {
    if (rows.length === 0) return { rows: [], numAffectedRows: 0n }
    const { sql, parameters } = this.#bulkOf(statement)
    const { module } = 'module' in statement ? statement : { module: undefined }
    return db.executeQuery<Row>(bulkQuery<Row>(sql, parameters(rows), module))
  }

  /** Lets what procedures are made of run in a transaction. */
  contextOf(runner: StatementRunner): ProcedureContext {
    const { rowLocks, name } = this.dialect
    return {
      isRemote: name === 'postgres',
      hasRowLocks: rowLocks,
      run: async <Row>(statement: Bulk, rows: readonly (readonly unknown[])[]) =>
        (await this.#bulk<Row>(runner, statement, rows)).rows,
      change: async (statement, rows) =>
        Number((await this.#bulk(runner, statement, rows)).numAffectedRows),
    }
  }

  #runLast(
    runner: StatementRunner,
    last: readonly LastStatement[],
  ): Promise<readonly (readonly unknown[])[]> {
    const { run } = this.contextOf(runner)
    const compiled = this.#appendOf
    if (!compiled) return runLast(run, last)
    return runLast(run, last, async ({ append, heads, rows }) => {
      if (rows.length === 0) return []
      const { sql, parameters } = compiled(append)
      const query = bulkQuery<unknown>(sql, parameters(heads, rows), append.rows.module)
      return (await runner.executeQuery<unknown>(query)).rows
    })
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

/** @returns whether the next statements end the transaction: only a remote database saves a round trip by it */
function commitWithNext(connection: DatabaseConnection): boolean {
  const remote = connection as Partial<RemoteConnection>
  remote.commitWithNext?.()
  return remote.commitWithNext !== undefined
}

class Placeholder {
  constructor(readonly name: string) {}
}

/** Stands for a value that is given when the statement runs. */
export type Param<P extends object> = <K extends keyof P & string>(name: K) => P[K]

const placeholder = (name: string): unknown => new Placeholder(name)

/**
 * A statement built with Kysely and compiled once. Building and compiling costs more than running it, which matters where a call
 * does little else.
 */
export class Prepared<P extends object, Row> {
  readonly #compiled: CompiledQuery<Row>
  /** For each parameter its name, or null for a constant. */
  readonly #names: readonly (string | null)[]

  constructor(
    compiled: CompiledQuery<Row>,
    private readonly database: Database,
  ) {
    this.#compiled = database.dialect.numbersParameters ? sharingParameters(compiled) : compiled
    this.#names = this.#compiled.parameters.map(placeholderName)
  }

  all(executor: Queryable, params: P): MaybePromise<Row[]> {
    const given = params as Record<string, unknown>
    const parameters = this.#names.map((name, index) =>
      name === null ? this.#compiled.parameters[index] : given[name],
    )
    const { reader, dialect } = this.database
    if (executor !== reader)
      return executor.executeQuery<Row>({ ...this.#compiled, parameters }).then(({ rows }) => rows)
    try {
      return dialect.readNow(this.#compiled.sql, parameters) as MaybePromise<Row[]>
    } catch (error) {
      return Promise.reject(error)
    }
  }

  first(executor: Queryable, params: P): MaybePromise<Row | null> {
    return thenMaybe(this.all(executor, params), (rows) => rows[0] ?? null)
  }
}

function placeholderName(parameter: unknown): string | null {
  return parameter instanceof Placeholder ? parameter.name : null
}

/** A value that stands in several places of a statement is given once. */
function sharingParameters<Row>(compiled: CompiledQuery<Row>): CompiledQuery<Row> {
  const names = compiled.parameters.map(placeholderName)
  const places = names.map((name, place) => (name === null ? place : names.indexOf(name)))
  const kept = [...new Set(places)]
  const numbered = (_: string, number: string) =>
    `$${kept.indexOf(places[Number(number) - 1] as number) + 1}`
  return {
    ...compiled,
    sql: compiled.sql.replace(/\$(\d+)/g, numbered),
    parameters: kept.map((place) => compiled.parameters[place]),
  }
}

/** The statements of a page, one for each length; the caller bounds the lengths. */
export class PreparedPage<P extends object, Row> {
  readonly #statements = new Map<number, Prepared<P, Row>>()

  constructor(private readonly prepare: (limit: number) => Prepared<P, Row>) {}

  all(
    executor: Queryable,
    { limit, ...params }: P & { readonly limit: number },
  ): MaybePromise<Row[]> {
    const known = this.#statements.get(limit) ?? this.prepare(limit)
    this.#statements.set(limit, known)
    return known.all(executor, params as unknown as P)
  }
}

/** What Kysely asks of a compiled query beside its text, which ours do not come from. */
const emptyQuery = {
  sql: '',
  parameters: [],
  query: { kind: 'RawNode', sqlFragments: [], parameters: [] },
  queryId: { queryId: 'hermod' },
}

function bulkQuery<Row>(
  sql: string,
  parameters: readonly unknown[],
  module: string | undefined,
): CompiledQuery<Row> {
  const bulk: BulkQuery = { isBulk: true, module }
  return { ...emptyQuery, ...bulk, sql, parameters } as unknown as CompiledQuery<Row>
}
