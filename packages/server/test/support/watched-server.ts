import {
  type Api,
  type Backend,
  type ServerOptions,
  type ServerProcess,
  startServer,
} from '@hermod/testkit'
import { type DataPlace, openSql, type Sql } from './database/sql.js'

/** A server of tests, in a process of its own or in this one. */
export type TestServer = Pick<
  ServerProcess,
  'api' | 'appId' | 'adminToken' | 'operatorToken' | 'dataDir' | 'url'
>

/** A server and a connection to its database. */
export interface Watched {
  readonly server: TestServer
  readonly api: Api
  readonly sql: Sql
  /** Where the data is, for a connection of one's own. */
  readonly place: DataPlace
}

/** A server on an empty database, and a connection to it. Its answers and its statements are checked. */
export class WatchedServer implements Watched, AsyncDisposable {
  private constructor(
    /** The process that runs now. */
    public server: ServerProcess,
    readonly sql: Sql,
    /** undefined: the embedded database of the server's folder */
    readonly databaseUrl: string | undefined,
    private readonly database: AsyncDisposable,
  ) {}

  /** @param options.env further settings */
  static async start(
    backend: Backend,
    options: Omit<ServerOptions, 'databaseUrl' | 'database'> = {},
  ): Promise<WatchedServer> {
    const database = await backend.createDatabase()
    const databaseUrl = database.url
    const server = await startServer({
      ...options,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
      env: { HERMOD_CHECK_ANSWERS: 'on', ...options.env },
    })
    const sql = await openSql({ dataDir: server.dataDir, databaseUrl })
    return new WatchedServer(server, sql, databaseUrl, database)
  }

  /** A caller of the process that runs now. */
  get api(): Api {
    return this.server.api
  }

  /** Where the data is, for a connection of one's own. */
  get place(): DataPlace {
    return { dataDir: this.server.dataDir, databaseUrl: this.databaseUrl }
  }

  /** For a `hermod` command that works on the same data. */
  get settings() {
    return { HERMOD_DATA_DIR: this.server.dataDir, HERMOD_DATABASE_URL: this.databaseUrl }
  }

  /**
   * Kills the process. On PostgreSQL it also ends its leases on jobs, so that the next process does
   * not wait for them; on SQLite the next process does so.
   */
  async crash(): Promise<void> {
    await this.server.kill9()
    if (this.databaseUrl === undefined) return
    await this.sql.run("update jobs set run_at = 0 where outcome = '' and owner <> ''")
  }

  /** The next process on the same data, after this one has ended. */
  async startAgain(): Promise<ServerProcess> {
    this.server = await this.server.startAgain()
    return this.server
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sql[Symbol.asyncDispose]()
    await this.server[Symbol.asyncDispose]()
    await this.database[Symbol.asyncDispose]()
  }
}
