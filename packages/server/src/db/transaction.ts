/**
 * One attempt of a transaction: its statements, its checks and its hooks. {@link Database} repeats
 * attempts.
 */
import type { BulkRunner } from './bulk-runner.js'
import type { CacheCheck, StatementRunner } from './checks/cache-check.js'
import { watchStatements } from './checks/statement-check.js'
import type { RemoteConnection, SqlDialect } from './dialect/dialect.js'
import {
  type CompiledQuery,
  type DatabaseConnection,
  DummyDriver,
  type Kysely,
  type QueryResult,
  Transaction,
} from './kysely.js'
import type { LastStatement, Procedure, ProcedureResult } from './procedure.js'
import type { Schema } from './schema.js'

/** Hooks around the commit of a transaction. A repeated transaction starts without any. */
export interface CommitHooks {
  /**
   * Runs after the transaction's work; it may lock what no other code locks earlier.
   * @param run its last statements run after all others, with the commit
   */
  beforeCommit(run: () => Promise<readonly LastStatement[]>): void
  /**
   * Runs once the transaction is durable, before its caller continues; also when the outcome of the
   * commit is unknown or its last statements have failed, so it must do no harm if nothing was
   * stored. Not after any other rollback.
   * @param cache the cache that `run` invalidates, see {@link CacheCheck}
   */
  afterCommit(run: () => void, cache?: string): void
}

/** An open transaction; it must not be used after the function that received it has returned. */
export type Tx = Transaction<Schema> &
  CommitHooks & {
    /** The value of {@link SqlDialect.rowLocks}, for the functions of locking.ts. */
    readonly hasRowLocks: boolean
  }

/** A transaction of one statement, see {@link Database.statement}. */
export type StatementTx = Transaction<Schema> & Pick<Tx, 'afterCommit' | 'hasRowLocks'>

/** A place where a statement may run: an open transaction, or the reader. */
export type Queryable = Kysely<Schema>

/** Checks on running statements, for development and tests. */
export interface DatabaseChecks {
  readonly cacheCheck?: CacheCheck
  /** Refuses a transaction that commits before all its statements are awaited. */
  readonly checksEnds?: boolean
}

interface TransactionRunnerOptions {
  readonly dialect: SqlDialect
  readonly writer: Queryable
  readonly bulk: BulkRunner
  readonly checks: DatabaseChecks
}

interface OpenTransaction {
  readonly tx: StatementTx
  readonly runner: StatementRunner
  /** @throws Error when the statements have broken a rule */
  requireRules(): void
}

/** Runs each transaction once. */
export class TransactionRunner {
  constructor(private readonly options: TransactionRunnerOptions) {}

  run<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#attempt(async ({ tx }) => {
      const before: (() => Promise<readonly LastStatement[]>)[] = []
      const beforeCommit = (run: () => Promise<readonly LastStatement[]>) => void before.push(run)
      const result = await work(Object.assign(tx, { beforeCommit }))
      const last: LastStatement[] = []
      for (const run of before) last.push(...(await run()))
      return { last, output: () => result }
    })
  }

  runProcedure<Input, Output, Host>(
    procedure: Procedure<Input, Output, Host>,
    input: Input,
    host: Host,
  ): Promise<Output> {
    const { bulk } = this.options
    return this.#attempt(({ runner }) => procedure.run(bulk.contextOf(runner), input, host))
  }

  async #attempt<T>(work: (open: OpenTransaction) => Promise<ProcedureResult<T>>): Promise<T> {
    const after: (() => void)[] = []
    let isCommitting = false
    let isOver = false
    try {
      return await this.options.writer.transaction().execute(async (transaction) => {
        const connection = await transaction.getExecutor().provideConnection(async (held) => held)
        const open = this.#open(connection, { isOver: () => isOver, after })
        try {
          const { last, output } = await work(open)
          open.requireRules()
          isCommitting = last.length > 0 && sendsWithCommit(connection)
          const results = await this.options.bulk.runLast(open.runner, last)
          open.requireRules()
          isCommitting = true
          return output(results)
        } finally {
          // Statements may still run; none may follow the rollback.
          isOver = true
        }
      })
    } finally {
      if (isCommitting) for (const run of after) run()
    }
  }

  async runStatement<T>(work: (tx: StatementTx) => Promise<T>): Promise<T> {
    const after: (() => void)[] = []
    let isUsed = false
    /** @returns whether the one statement was run before */
    const use = () => {
      const wasUsed = isUsed
      isUsed = true
      return wasUsed
    }
    try {
      return await this.options.writer.getExecutor().provideConnection(async (connection) => {
        const open = this.#open(connection, { isOver: use, after })
        const result = await work(open.tx)
        open.requireRules()
        return result
      })
    } finally {
      if (use()) for (const run of after) run()
    }
  }

  #open(
    connection: DatabaseConnection,
    { isOver, after }: { isOver(): boolean; readonly after: (() => void)[] },
  ): OpenTransaction {
    const runner: StatementRunner = {
      executeQuery: async <Row>(query: CompiledQuery<Row>): Promise<QueryResult<Row>> => {
        if (isOver()) throw new Error('the transaction is over')
        return connection.executeQuery<Row>(query)
      },
    }
    const watched = this.#watch(runner)
    const tx: StatementTx = Object.assign(this.#unqueued(connection, runner), {
      hasRowLocks: this.options.dialect.rowLocks,
      afterCommit: (run: () => void, cache?: string) => {
        after.push(run)
        if (cache !== undefined) watched.invalidated(cache)
      },
    })
    return { tx, runner, requireRules: () => watched.requireRules() }
  }

  /**
   * A transaction with statements that do not wait for one another: connections run statements in
   * order, and send those together that come together. Kysely's own transaction would hold each
   * statement back until the one before it is answered.
   */
  #unqueued(connection: DatabaseConnection, runner: StatementRunner): Transaction<Schema> {
    const dialect = this.options.dialect.writes
    const watched: DatabaseConnection = {
      executeQuery: <Row>(query: CompiledQuery) => runner.executeQuery(query as CompiledQuery<Row>),
      streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
    }
    const executor = this.options.writer.getExecutor().withConnectionProvider({
      provideConnection: (use) => use(watched),
    })
    return new Transaction({ config: { dialect }, dialect, driver: new DummyDriver(), executor })
  }

  /** Attaches the enabled checks to the statements of one transaction. */
  #watch(runner: StatementRunner) {
    const { cacheCheck, checksEnds } = this.options.checks
    const caches = cacheCheck?.watch(runner)
    const statements = checksEnds ? watchStatements(runner) : null
    return {
      invalidated: (cache: string) => caches?.invalidated(cache),
      requireRules() {
        statements?.requireEnd()
        caches?.requireInvalidations()
      },
    }
  }
}

/**
 * @returns whether the next statements end the transaction: only a remote database saves a round
 * trip by it
 */
function sendsWithCommit(connection: DatabaseConnection): boolean {
  const remote = connection as Partial<RemoteConnection>
  remote.joinCommit?.()
  return remote.joinCommit !== undefined
}
