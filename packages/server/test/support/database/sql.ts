/** Another connection to the database: for errors that no call can make, and for a look at what is stored. */
import { join } from 'node:path'
import { whenUnlocked } from '@hermod/testkit'
import { DatabaseSync } from '@photostructure/sqlite'
import pg from 'pg'

export type SqlRow = Readonly<Record<string, unknown>>

export interface Sql extends AsyncDisposable {
  /** Runs one statement without parameters; @returns its rows, with 64-bit integers as numbers */
  run(statement: string): Promise<SqlRow[]>
}

/** How many statements wait for a lock in a PostgreSQL database, as `count`. */
export const countOfWaiting = `select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Where a server keeps its data. */
export interface DataPlace {
  readonly dataDir: string
  /** undefined: the embedded database of the folder */
  readonly databaseUrl: string | undefined
}

/** The embedded database may be in use by a server meanwhile. */
export async function openSql({ dataDir, databaseUrl }: DataPlace): Promise<Sql> {
  return databaseUrl === undefined
    ? openSqlite(join(dataDir, 'hermod.db'))
    : openPostgres(databaseUrl)
}

function openSqlite(path: string): Sql {
  const database = new DatabaseSync(path, { timeout: 0 })
  // No test cuts the power.
  database.exec('pragma synchronous = off')
  return {
    run: (statement) => whenUnlocked(() => database.prepare(statement).all() as SqlRow[]),
    [Symbol.asyncDispose]: async () => database.close(),
  }
}

async function openPostgres(url: string): Promise<Sql> {
  const client = new pg.Client({ connectionString: url, types: { getTypeParser } })
  await client.connect()
  // The driver takes one query at a time.
  let last: Promise<unknown> = Promise.resolve()
  return {
    run: async (statement) => {
      const answer = last.then(() => client.query(statement))
      last = answer.catch(() => {})
      return (await answer).rows
    },
    [Symbol.asyncDispose]: () => client.end(),
  }
}

const getTypeParser: pg.CustomTypesConfig['getTypeParser'] = (oid, format) =>
  oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format)
