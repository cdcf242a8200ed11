import { memoryDisk } from './memory-disk.js'
import { findPostgres, PostgresCluster } from './postgres.js'
import { type ServerOptions, type ServerProcess, startServer } from './processes/server-process.js'

/** Place for one test's data; disposing removes it. */
export interface BackendDatabase extends AsyncDisposable {
  /** HERMOD_DATABASE_URL; undefined: the embedded database of the data folder. */
  readonly url: string | undefined
}

/** A database that the suites run on. */
export interface Backend {
  readonly name: 'sqlite' | 'postgres'
  /** Creates an empty database for one test. */
  createDatabase(): Promise<BackendDatabase>
  /** Starts a server on an empty database, which is removed with the server. */
  startServer(options?: Omit<ServerOptions, 'databaseUrl' | 'database'>): Promise<ServerProcess>
  /** Ends the `own` cluster of this backend, if there is one. */
  end(): Promise<void>
}

export interface PostgresBackend extends Backend {
  readonly name: 'postgres'
  /** The cluster behind this backend, started on first use. */
  cluster(): Promise<PostgresCluster>
}

/**
 * Clusters that tests use.
 *
 * - `shared`: one for all test files of a worker, on a memory disk, without fsync. A commit is not durable.
 * - `durable`: one for all test files of a worker, on the disk, as PostgreSQL is by default: for
 *   tests of kills and of commits that take time.
 * - `own`: one for the caller, on the disk, until `end`: for tests that stop, halt, configure or measure it.
 */
export type ClusterKind = 'shared' | 'durable' | 'own'

/** Synchronous commit stays on: the service refuses to start without it. */
const fastSettings = { fsync: 'off', full_page_writes: 'off' }

const clusters = new Map<ClusterKind, Promise<PostgresCluster>>()

const sqlite: Backend = {
  name: 'sqlite',
  createDatabase: async () => ({ url: undefined, [Symbol.asyncDispose]: async () => {} }),
  startServer: (options) => startServer(options),
  end: async () => {},
}

function postgresBackend(kind: ClusterKind): PostgresBackend {
  let own: Promise<PostgresCluster> | undefined
  return {
    name: 'postgres',
    cluster() {
      if (kind === 'own') {
        own ??= PostgresCluster.start()
        return own
      }
      const started =
        clusters.get(kind) ??
        (kind === 'durable'
          ? PostgresCluster.start()
          : PostgresCluster.start({ settings: fastSettings, folder: memoryDisk() }))
      clusters.set(kind, started)
      return started
    },
    async createDatabase() {
      return (await this.cluster()).createDatabase()
    },
    async startServer(options) {
      const cluster = await this.cluster()
      return startServer({ ...options, database: await cluster.createDatabase() })
    },
    async end() {
      const cluster = await own
      own = undefined
      await cluster?.[Symbol.asyncDispose]()
    },
  }
}

/**
 * Lists the databases for suites with claims that SQL decides, for `describe.each`.
 * HERMOD_TEST_BACKENDS selects: `sqlite`, `postgres` or `all`; unset: SQLite, and PostgreSQL when
 * it is installed.
 *
 * @throws Error when PostgreSQL is required and not found, so that no suite is left out silently
 */
export function testBackends(kind: ClusterKind = 'shared'): (Backend | PostgresBackend)[] {
  const wanted = process.env.HERMOD_TEST_BACKENDS ?? 'found'
  if (wanted === 'sqlite') return [sqlite]
  const found = findPostgres() !== null
  if (!found && wanted !== 'found') throw new Error('PostgreSQL 15 or newer was not found')
  if (wanted === 'postgres') return [postgresBackend(kind)]
  return found ? [sqlite, postgresBackend(kind)] : [sqlite]
}

/** True in the long run of `npm run test:full`. */
export const isFullRun = process.env.HERMOD_TEST_FULL === 'on'

/**
 * Lists the databases for suites with claims independent of SQL: the first of {@link testBackends};
 * in the full run all of them.
 */
export function anyBackend(kind: ClusterKind = 'shared'): (Backend | PostgresBackend)[] {
  return isFullRun ? testBackends(kind) : testBackends(kind).slice(0, 1)
}

/**
 * Lists the databases for suites of callers that meet and of nodes that are killed: PostgreSQL when
 * it is installed, which has writers and nodes at once; in the full run all of them.
 */
export function parallelBackend(kind: ClusterKind = 'shared'): (Backend | PostgresBackend)[] {
  return isFullRun ? testBackends(kind) : testBackends(kind).slice(-1)
}
