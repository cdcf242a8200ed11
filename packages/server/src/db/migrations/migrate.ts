import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Database, Queryable } from '../database.js'
import type { SqlDialect } from '../dialect/dialect.js'
import { type Migration, Migrator, sql } from '../kysely.js'
import { initialMigration, initialStatements } from './001-initial.js'
import { appliedMigrations, schemaNumber, schemaProblem } from './schema-state.js'

/**
 * A change of the schema. It only adds: builds of the schema `runsWith` and later run on it, so that
 * nodes of two builds share the database while one replaces the other.
 */
export interface SchemaMigration extends Migration {
  /** The oldest schema whose build may still run once this migration is done. */
  readonly runsWith: number
}

/** By name, such as `002-devices`. */
export type Migrations = Readonly<Record<string, SchemaMigration>>

/** The time for which a migration tries again to get its locks. */
const lockPatienceMs = 60_000
const lockPauseMs = 1_000

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
  const changes = Object.entries(later).map(([name, change]) => [
    name,
    schemaChange(dialect, change),
  ])
  return { [`001-initial-${hash}`]: initialMigration(dialect), ...Object.fromEntries(changes) }
}

/** The migration with its limit of locks, and the builds that may run on its schema. */
function schemaChange(
  { migrationLocks }: SqlDialect,
  { up, runsWith }: SchemaMigration,
): Migration {
  return {
    async up(db) {
      if (migrationLocks) await sql.raw(migrationLocks.limit).execute(db)
      await up(db)
      await sql`update database_identity set runs_with = ${runsWith} where runs_with < ${runsWith}`.execute(
        db,
      )
    },
  }
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
 * Brings the schema up to date. Safe to run from several nodes at once. A newer schema, on which
 * this build may run, stays as it is.
 *
 * @returns the names of the migrations that this call ran
 * @throws Error that names the failed migration; nothing is changed then
 */
export async function migrate(
  database: Database,
  later = laterMigrations,
  patienceMs = lockPatienceMs,
): Promise<string[]> {
  const { dialect, writer } = database
  const applied = new Set(await appliedMigrations(dialect, writer))
  if (Object.keys(allMigrations(dialect, later)).every((name) => applied.has(name))) return []
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return await migrateOnce(database, later)
    } catch (error) {
      const isLocked = dialect.migrationLocks?.isRefused((error as Error).cause) ?? false
      if (!isLocked) throw error
      if (performance.now() > deadline) throw lockedError(error as Error)
      await sleep(lockPauseMs)
    }
  }
}

async function migrateOnce(database: Database, later: Migrations): Promise<string[]> {
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

/** Lists all migrations of this build, and those of a newer build that the database has. */
export async function listMigrations(
  { dialect, writer }: Database,
  later = laterMigrations,
): Promise<readonly { readonly name: string; readonly isApplied: boolean }[]> {
  const applied = await appliedMigrations(dialect, writer)
  const known = Object.keys(allMigrations(dialect, later))
  return [...new Set([...known, ...applied])].map((name) => ({
    name,
    isApplied: applied.includes(name),
  }))
}

function lockedError(cause: Error): Error {
  return new Error(
    'the schema could not be changed, since other transactions have held its tables for a minute; nothing was changed; end them (pg_stat_activity shows them), and start again',
    { cause },
  )
}

function migrationError(name: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const to = schemaNumber([name])
  return new Error(
    `the schema could not be brought to ${to}, since the migration ${name} failed: ${reason}; nothing was changed; restore a backup, or start the version that made the data`,
    { cause },
  )
}
