import { findPostgres, PostgresCluster } from './postgres.js'
import { type ServerOptions, type ServerProcess, startServer } from './processes/server-process.js'

/** A place for one test's data; disposing removes it. */
export interface BackendDatabase extends AsyncDisposable {
  /** For HERMOD_DATABASE_URL; undefined: the embedded database of the data folder. */
  readonly url: string | undefined
}

/** A database that the suites run on. */
export interface Backend {
  readonly name: 'sqlite' | 'postgres'
  /** An empty database that nobody else uses. */
  createDatabase(): Promise<BackendDatabase>
  /** A server on an empty database, which leaves with the server. */
  startServer(options?: Omit<ServerOptions, 'databaseUrl' | 'database'>): Promise<ServerProcess>
}

export interface PostgresBackend extends Backend {
  readonly name: 'postgres'
  /** The one cluster of this process, started on first use and ended with the process. */
  cluster(): Promise<PostgresCluster>
}

const sqlite: Backend = {
  name: 'sqlite',
  createDatabase: async () => ({ url: undefined, [Symbol.asyncDispose]: async () => {} }),
  startServer: (options) => startServer(options),
}

let sharedCluster: Promise<PostgresCluster> | null = null

const postgres: PostgresBackend = {
  name: 'postgres',
  cluster() {
    sharedCluster ??= PostgresCluster.start()
    return sharedCluster
  },
  async createDatabase() {
    return (await this.cluster()).createDatabase()
  },
  async startServer(options) {
    const cluster = await this.cluster()
    return startServer({ ...options, database: await cluster.createDatabase() })
  },
}

/**
 * The databases that the suites run on, for `describe.each`. HERMOD_TEST_BACKENDS picks: `sqlite`, `postgres` or `all`; unset: SQLite, and
 * PostgreSQL when it is installed.
 *
 * @throws Error when PostgreSQL is asked for and not found, so that nothing is left out silently
 */
export function testBackends(): (Backend | PostgresBackend)[] {
  const wanted = process.env.HERMOD_TEST_BACKENDS ?? 'found'
  if (wanted === 'sqlite') return [sqlite]
  const found = findPostgres() !== null
  if (!found && wanted !== 'found') throw new Error('PostgreSQL 15 or newer was not found')
  if (wanted === 'postgres') return [postgres]
  return found ? [sqlite, postgres] : [sqlite]
}

/** Ends the shared cluster before the process does. */
export async function stopSharedCluster(): Promise<void> {
  const cluster = await sharedCluster
  sharedCluster = null
  await cluster?.[Symbol.asyncDispose]()
}
