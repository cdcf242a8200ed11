import { join } from 'node:path'
import { type Backend, memoryDisk, TempFolder } from '@hermod/testkit'
import { Database, type DatabaseChecks } from '../../../dist/db/database.js'
import type { SqlDialect } from '../../../dist/db/dialect/dialect.js'
import { postgresDialect } from '../../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'
import { migrate } from '../../../dist/db/migrations/migrate.js'
import type { DataPlace } from './sql.js'

/** Opens the database of a server that may run meanwhile. */
export function openDialect({ dataDir, databaseUrl }: DataPlace): SqlDialect {
  return databaseUrl === undefined
    ? sqliteDialect(join(dataDir, 'hermod.db'))
    : postgresDialect({ url: databaseUrl, poolSize: 4, onError: () => {} })
}

/** A database with the schema of the service and no server. */
export class DatabasePlace implements AsyncDisposable {
  private constructor(
    readonly folder: TempFolder,
    /** undefined: the embedded database of the folder */
    readonly url: string | undefined,
    readonly database: Database,
    private readonly place: AsyncDisposable,
  ) {}

  /** @param goesByProcess jobs and leases go by the clock of the test, also with PostgreSQL */
  static async create(
    backend: Backend,
    checks: DatabaseChecks = {},
    { goesByProcess = false } = {},
  ): Promise<DatabasePlace> {
    const folder = new TempFolder('database', memoryDisk())
    const place = await backend.createDatabase()
    const dialect =
      place.url === undefined
        ? sqliteDialect(join(folder.path, 'hermod.db'))
        : postgresDialect({ url: place.url, poolSize: 4, onError: () => {}, goesByProcess })
    const database = new Database(dialect, checks)
    await migrate(database)
    return new DatabasePlace(folder, place.url, database, place)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]()
    await this.place[Symbol.asyncDispose]()
    this.folder[Symbol.dispose]()
  }
}
