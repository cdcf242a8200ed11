import type { Database, Queryable } from '../database.js'
import type { SqlDialect } from '../dialect/dialect.js'
import { type Migration, type MigrationInfo, Migrator } from '../kysely.js'
import { initialMigration } from './001-initial.js'
import { type MigrationNotice, onePassPushes } from './002-one-pass-pushes.js'
import { addedMembers } from './003-added-members.js'
import { silentBindings } from './004-silent-bindings.js'

const noNotice: MigrationNotice = () => {}

function migrations(dialect: SqlDialect, notice: MigrationNotice): Record<string, Migration> {
  return {
    '001-initial': initialMigration(dialect),
    '002-one-pass-pushes': onePassPushes(notice),
    '003-added-members': addedMembers,
    '004-silent-bindings': silentBindings,
  }
}

function migrator({ dialect }: Database, db: Queryable, notice = noNotice): Migrator {
  // Kysely takes a lock of the database for the whole run, so nodes that start together migrate once and the others wait.
  return new Migrator({
    db,
    provider: { getMigrations: async () => migrations(dialect, notice) },
  })
}

/**
 * Brings the schema up to date. Safe to run from several nodes at once.
 *
 * @param notice reports what operators should know; default: reports nothing
 * @returns the names of the migrations that this call ran
 */
export async function migrate(database: Database, notice = noNotice): Promise<string[]> {
  const { error, results } = await database.withoutDeadline((db) =>
    migrator(database, db, notice).migrateToLatest(),
  )
  if (error) throw error
  return (results ?? []).map((result) => result.migrationName)
}

/** @returns every known migration in order, with when it ran */
export async function listMigrations(database: Database): Promise<readonly MigrationInfo[]> {
  return migrator(database, database.writer).getMigrations()
}
