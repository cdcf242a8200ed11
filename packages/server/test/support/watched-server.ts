import { type Backend, type ServerProcess, startServer } from '@hermod/testkit'
import { openSql, type Sql } from './sql.js'

/** A server on an empty database, and another hand in its data. */
export interface WatchedServer extends AsyncDisposable {
  readonly server: ServerProcess
  readonly sql: Sql
  /** undefined: the embedded database of the server's folder */
  readonly databaseUrl: string | undefined
}

export async function startWatchedServer(backend: Backend): Promise<WatchedServer> {
  const database = await backend.createDatabase()
  const databaseUrl = database.url
  const env = { HERMOD_CHECK_ANSWERS: 'on' }
  const server = await startServer({ env, ...(databaseUrl === undefined ? {} : { databaseUrl }) })
  const sql = await openSql({ dataDir: server.dataDir, databaseUrl })
  return {
    server,
    sql,
    databaseUrl,
    async [Symbol.asyncDispose]() {
      await sql[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
      await database[Symbol.asyncDispose]()
    },
  }
}
