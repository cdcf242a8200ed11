import { createHash } from 'node:crypto'
import type { Database, Queryable } from '../database.js'
import type { SqlDialect } from '../dialect/dialect.js'
import { type Migration, type MigrationInfo, Migrator, sql } from '../kysely.js'
import { initialMigration, initialStatements } from './001-initial.js'
import { schemaNumber, schemaProblem } from './schema-state.js'

/** By name, such as `002-devices`. */
export type Migrations = Readonly<Record<string, Migration>>

/**
 * The migrations after the first one. Until 0.1.0 there are none: a change of the schema changes
 * the first one.
 */
const laterMigrations: Migrations = {}

/**
 * The name of the first migration has a hash of its statements, by which a database of another
 * build is distinguished.
 */
function allMigrations(dialect: SqlDialect, later: Migrations): Record<string, Migration> {
  const text = initialStatements(dialect).join('\n')
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
  return { [`001-initial-${hash}`]: initialMigration(dialect), ...later }
}

async function migrator(
  { dialect }: Database,
  db: Queryable,
  later: Migrations,
): Promise<Migrator> {
  // Kysely takes a lock of the database for the whole run, so nodes that start together migrate
  // once and the others wait.
  return new Migrator({
    db,
    provider: { getMigrations: async () => allMigrations(dialect, later) },
    // The order of the list is that of the clock, which may have been wrong; findSchemaProblem
    // checks the names.
    allowUnorderedMigrations: true,
    ...(dialect.name === 'postgres' && { migrationTableSchema: await currentSchema(db) }),
  })
}

/** The schema of new tables. Without it Kysely takes a list of migrations in any schema for its own. */
async function currentSchema(db: Queryable): Promise<string> {
  const { rows } = await sql<{ name: string }>`select current_schema()::text as name`.execute(db)
  return rows[0]?.name ?? 'public'
}

/**
 * Returns the end of a sentence about a database that {@link migrate} must not change: one with the
 * schema of a newer build or of another build before 0.1.0, with other tables, or with a damaged
 * list of migrations. Null otherwise.
 */
export function findSchemaProblem(
  { dialect, writer }: Database,
  later = laterMigrations,
): Promise<string | null> {
  return schemaProblem(dialect, writer, Object.keys(allMigrations(dialect, later)))
}

/**
 * Brings the schema up to date. Safe to run from several nodes at once.
 *
 * @returns the names of the migrations that this call ran
 * @throws Error that names the failed migration; nothing is changed then
 */
export async function migrate(database: Database, later = laterMigrations): Promise<string[]> {
  const { error, results } = await database.withoutDeadline(async (db) =>
    (await migrator(database, db, later)).migrateToLatest(),
  )
  const failed = results?.find(({ status }) => status === 'Error')
  if (failed) throw migrationError(failed.migrationName, error)
  if (error) throw error
  return (results ?? []).map((result) => result.migrationName)
}

/** Returns the number of the schema that this build makes. */
export function currentSchemaNumber({ dialect }: Database): number {
  return schemaNumber(Object.keys(allMigrations(dialect, laterMigrations)))
}

/** @returns every known migration in order, with when it ran */
export async function listMigrations(
  database: Database,
  later = laterMigrations,
): Promise<readonly MigrationInfo[]> {
  return (await migrator(database, database.writer, later)).getMigrations()
}

function migrationError(name: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const to = schemaNumber([name])
  return new Error(
    `the schema could not be brought to ${to}, since the migration ${name} failed: ${reason}; nothing was changed; restore a backup, or start the version that made the data`,
    { cause },
  )
}
