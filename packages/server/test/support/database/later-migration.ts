/** A second version of the schema, for tests of upgrades. */
import { join } from 'node:path'
import { Database } from '../../../dist/db/database.js'
import { postgresDialect } from '../../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'
import { sql } from '../../../dist/db/kysely.js'
import { migrate, type Release } from '../../../dist/db/migrations/migrate.js'
import type { DataPlace } from './sql.js'

/** A later build, which adds a column. */
export const laterRelease = (runsWith = 2): Release => ({
  version: '9.0.0',
  migrations: {
    '002-made-up': {
      runsWith,
      async up(db) {
        await sql
          .raw("alter table node_shares add column note text not null default 'none'")
          .execute(db)
      },
    },
  },
})

/**
 * Brings the schema to its second version, as a later build does.
 * @param runsWith the oldest schema whose build may still run
 * @param patienceMs the time for which it tries again to get its locks
 * @returns the names of the migrations that this call ran
 */
export async function migrateLater(
  { dataDir, databaseUrl: url }: DataPlace,
  runsWith = 2,
  patienceMs?: number,
): Promise<string[]> {
  await using database = new Database(
    url === undefined
      ? sqliteDialect(join(dataDir, 'hermod.db'))
      : postgresDialect({ url, poolSize: 2, onError: () => {} }),
  )
  return await migrate(database, laterRelease(runsWith), patienceMs)
}
