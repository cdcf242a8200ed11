import type { MaybePromise } from '../../lib/maybe-promise.js'
import type {
  DatabaseConnection,
  Kysely,
  Dialect as KyselyDialect,
  QueryExecutorProvider,
} from '../kysely.js'
import type { CheckpointStatistics, PausedCheckpoints } from './sqlite-checkpointer.js'
import type { ScrubResult } from './sqlite-scrub.js'

/** SQL type of a bulk column, as PostgreSQL names it. */
export type ColumnType = 'text' | 'bigint' | 'integer' | 'smallint'

export interface BulkInsert {
  readonly table: string
  /** Columns in the order of each row's values. Inside `conflict` the table's alias is `t`. */
  readonly columns: Readonly<Record<string, ColumnType>>
  /** Condition on a given row, with the alias `v`; rows that do not meet it are left out. */
  readonly where?: (lock: (mode: RowLock) => string) => string
  /**
   * A column with an instant by the clock of the process, and another one with the time now by it.
   * Where the clock of the database counts, the instant is stored by that clock.
   */
  readonly instant?: { readonly column: string; readonly now: string }
  /** SQL after the values, for example `on conflict (…) do nothing`; the same text on every database. */
  readonly conflict?: string
  /** Columns to return, without the alias; a row that the conflict clause skipped returns nothing. */
  readonly returning?: string
}

/** The lock of rows, on a database with row locks. */
export type RowLock = 'for update' | 'for no key update' | 'for key share'

export interface BulkSelect {
  readonly table: string
  /** SQL after the table, which has the alias `t`: `left join … on …`. Joined rows are not locked. */
  readonly joins?: string
  readonly keys: Readonly<Record<string, ColumnType>>
  /** Columns or expressions to select, by names that the keys do not make ambiguous. */
  readonly columns: string
  /** Locks the rows that are found, in the order of the keys, where the database has row locks. */
  readonly lock?: RowLock
  /** Leaves out the rows that another transaction has locked, instead of waiting for it. */
  readonly skipLocked?: boolean
}

/** Deletes the rows that exist. */
export interface BulkDelete {
  readonly deleteFrom: string
  readonly keys: Readonly<Record<string, ColumnType>>
}

/** Changes the rows that exist. Each row of parameters has the new values, then the keys. */
export interface BulkUpdate {
  readonly table: string
  readonly set: Readonly<Record<string, ColumnType>>
  /** Adds the new values to the old ones. */
  readonly adds?: true
  readonly keys: Readonly<Record<string, ColumnType>>
  /** Columns to return of the changed rows, without the alias. */
  readonly returning?: string
}

/**
 * Appends rows to a log with dense positions in each app. The heads hold the last position of each
 * app, and stay locked until the transaction ends.
 */
export interface BulkAppend {
  /** Moves the heads; returns app_id and position. */
  readonly heads: BulkInsert
  /** Each row has app_id, and in place of its position the number of later rows of the app. */
  readonly rows: BulkInsert
  /** Rows of another table with positions of the same append, given as those of `rows`. */
  readonly more?: BulkInsert
}

export type Bulk = BulkInsert | BulkSelect | BulkUpdate | BulkDelete

/**
 * A statement that is run for many rows at once: where the database is reached by a function call,
 * once per row through one prepared statement; where it is reached over a socket, as one statement
 * over arrays. The SQL text never depends on the number of rows.
 */
export interface BulkStatement {
  readonly sql: string
  /** Encodes rows as parameters of the driver. */
  parameters(rows: readonly (readonly unknown[])[]): readonly unknown[]
}

/** A {@link BulkStatement} of two or three kinds of rows. */
export interface AppendStatement {
  readonly sql: string
  parameters(
    heads: readonly (readonly unknown[])[],
    rows: readonly (readonly unknown[])[],
    more?: readonly (readonly unknown[])[],
  ): readonly unknown[]
}

/** A request to a thread to run a procedure. */
export interface ProcedureCall {
  readonly module: string
  readonly name: string
  readonly input: unknown
}

/** Marks a compiled query as a bulk statement, with parameters made by {@link BulkStatement}. */
export interface BulkQuery {
  readonly isBulk?: true
}

/** A connection of a database that is reached over a socket. */
export interface RemoteConnection extends DatabaseConnection {
  /** Sends the commit of the transaction together with the next statements. */
  joinCommit(): void
}

/**
 * The checks of connections to a database that may have been replaced while connections to it were
 * lost, as in a failover.
 */
export interface ConnectionGuard<Db> {
  /** The reason why no connection may be used any more, or null. */
  readonly refusal: Error | null
  /** A connection was lost. */
  lost(): void
  /**
   * Checks a new connection, before any other statement runs on it.
   * @param db runs statements on this connection
   * @throws when the service must not use it; its callers get storage_failed
   */
  admit(db: Db): Promise<void>
}

/** The differences between the databases. */
export interface SqlDialect {
  readonly name: 'sqlite' | 'postgres'
  /** Runs the statements of transactions, and reads without `reads`. */
  readonly writes: KyselyDialect
  /** Reads concurrently with the writer; it sees every committed transaction. */
  readonly reads?: KyselyDialect
  /** Runs a read without the layers in between, synchronously where possible; it sees what `reads` sees. */
  readonly readNow: (sql: string, parameters: readonly unknown[]) => MaybePromise<unknown[]>
  /** Closes what {@link readNow} has opened, where nothing else does. */
  readonly close?: () => Promise<void>
  /** Calls the listener when a connection was lost; absent where the database has none. */
  readonly onLostConnection?: (listener: () => void) => void
  /** Guards all connections from now on; absent where the database has none. */
  readonly guard?: (guard: ConnectionGuard<Kysely<never>>) => void
  /** Runs long reads without delaying others; opened for one of them and closed after it. */
  readonly longReads?: KyselyDialect
  /**
   * Runs changes of the schema, without a deadline; opened for one run and closed after it.
   * Default: `writes`.
   */
  readonly longWrites?: KyselyDialect
  /** Statements that prepare a transaction for long reads. */
  readonly longReadSettings?: readonly string[]
  /** True when `for update` locks exist and are needed because transactions run concurrently. */
  readonly rowLocks: boolean
  /** Parameters are numbered ($1, $2), so that one may stand in several places. */
  readonly numbersParameters: boolean
  /** The number of message batches that may run at once. */
  readonly concurrentBatches: number
  /**
   * The users that background work handles in one transaction; few on a database where messages
   * wait for it.
   */
  readonly usersPerTransaction: number
  /**
   * An expression for the time by the clock of the database, milliseconds since 1970, which is
   * constant in a statement, so that an index serves a comparison with it. Null: the clock of the
   * process counts.
   */
  readonly now: string | null
  /** Appended to CREATE TABLE for tables that are read and written by their primary key only. */
  readonly clusteredTable: string
  /**
   * Ends the definition of a table with rows that change after they were written; '' where that
   * costs nothing.
   */
  readonly roomForChanges: string
  /** Selects the `name` of each table at the place of the service's own, without those of extensions. */
  readonly listTables: string
  /** Returns the end of a sentence about a database that the service cannot use, or null. */
  readonly findProblem?: (db: QueryExecutorProvider) => Promise<string | null>
  /** Returns a sentence about a database that the service can use with restrictions, or null. */
  readonly findNotice?: (db: QueryExecutorProvider) => Promise<string | null>
  /** Returns the lowest limit of connections to the database, of all processes together. */
  readonly connectionLimit?: (
    db: QueryExecutorProvider,
  ) => Promise<{ readonly of: string; readonly connections: number }>
  /** Waiting of migrations for locks, on a database whose tables other nodes use at the same time. */
  readonly migrationLocks?: {
    /** Begins every migration: it fails when a lock is not given soon. */
    readonly limit: string
    /** A lock was not given in time. */
    isRefused(error: unknown): boolean
  }
  /** Ends every migration that makes tables or indexes. */
  readonly afterSchema?: (db: Kysely<never>) => Promise<void>
  bulk(statement: Bulk): BulkStatement
  /** Appends in one statement; without it the append takes one for the heads and one for the rows. */
  readonly bulkAppend?: (statement: BulkAppend) => AppendStatement
  /**
   * Runs a procedure on the writer's thread; without it procedures run in the calling thread.
   * Several may run at once.
   */
  readonly runProcedure?: (call: ProcedureCall) => Promise<unknown>
  /** The statistics of checkpoints, if the service runs them. */
  readonly checkpoints?: () => CheckpointStatistics
  /** Keeps the file of the database as it is, for a copy of it; absent where it has none. */
  readonly pauseCheckpoints?: () => Promise<PausedCheckpoints>
  /**
   * Removes what a file keeps of earlier values, in steps: empties the log, and overwrites unused
   * bytes of some pages. Absent where there is no such file.
   * @param from the page where the step before ended; 1 for the first one
   */
  readonly scrub?: (from: number) => Promise<ScrubResult>
  /** A unique key of the table is taken. */
  isTaken(error: unknown): boolean
  /** A row was not as its table demands. */
  isRefused(error: unknown): boolean
  /**
   * The database said that the same transaction may succeed when repeated.
   * @param afterMs the time since it was begun first
   */
  isRetryable(error: unknown, afterMs: number): boolean
  /** The database could not do its work: disk full, input/output error, no connection. */
  isUnavailable(error: unknown): boolean
}

/** The end of a statement that returns columns; '' for none. */
export function returningText(columns: string | undefined): string {
  return columns === undefined ? '' : ` returning ${columns}`
}
