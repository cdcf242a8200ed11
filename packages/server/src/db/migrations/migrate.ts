import type { Database, Queryable } from '../database.js'
import type { SqlDialect } from '../dialect/dialect.js'
import { type Migration, type MigrationInfo, Migrator } from '../kysely.js'
import { initialMigration } from './001-initial.js'

function migrations(dialect: SqlDialect): Record<string, Migration> {
  return { '001-initial': initialMigration(dialect) }
}

function migrator({ dialect }: Database, db: Queryable): Migrator {
  // Kysely takes a lock of the database for the whole run, so nodes that start together migrate once and the others wait.
  return new Migrator({
    db,
    provider: { getMigrations: async () => migrations(dialect) },
  })
}

/**
 * Brings the schema up to date. Safe to run from several nodes at once.
 *
 * @returns the names of the migrations that this call ran
 */
export async function migrate(database: Database): Promise<string[]> {
  const { error, results } = await database.withoutDeadline((db) =>
    migrator(database, db).migrateToLatest(),
  )
  if (error) throw error
  return (results ?? []).map((result) => result.migrationName)
}

/** @returns every known migration in order, with when it ran */
export async function listMigrations(database: Database): Promise<readonly MigrationInfo[]> {
  return migrator(database, database.writer).getMigrations()
}
