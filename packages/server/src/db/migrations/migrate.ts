import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { version } from '../../lib/version.js'
import type { Database, Queryable } from '../database.js'
import type { SqlDialect } from '../dialect/dialect.js'
import { type Migration, Migrator, sql } from '../kysely.js'
import { initialMigration, initialStatements } from './001-initial.js'
import { appliedMigrations, type Refusals, schemaNumber, schemaProblem } from './schema-state.js'

/**
 * A change of the schema. It only adds: builds of the schema `runsWith` and later run on it, so that
 * nodes of two builds share the database while one replaces the other.
 */
export interface SchemaMigration extends Migration {
  /** The oldest schema whose build may still run once this migration is done. */
  readonly runsWith: number
}

/** A build, as far as it changes the schema. */
export interface Release {
  readonly version: string
  /** The migrations after the first one, by name, such as `002-devices`. */
  readonly migrations: Readonly<Record<string, SchemaMigration>>
}

/** The time for which a migration tries again to get its locks. */
const lockPatienceMs = 60_000
const lockPauseMs = 1_000

/**
 * The migrations after the first one. Until 0.1.0 there are none: a change of the schema changes
 * the first one.
 */
const laterMigrations: Release['migrations'] = {}

/** This build. */
export const thisRelease: Release = { version, migrations: laterMigrations }

/**
 * The name of the first migration has a hash of its statements, by which a database of another
 * build is distinguished.
 */
function allMigrations(dialect: SqlDialect, release: Release): Record<string, Migration> {
  const text = initialStatements(dialect).join('\n')
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 12)
  const changes = Object.entries(release.migrations).map(([name, change]) => [
    name,
    schemaChange(dialect, change, release.version),
  ])
  return {
    [`001-initial-${hash}`]: initialMigration(dialect, release.version),
    ...Object.fromEntries(changes),
  }
}

/** The migration with its limit of locks, and the builds that may run on its schema. */
function schemaChange(
  { migrationLocks }: SqlDialect,
  { up, runsWith }: SchemaMigration,
  by: string,
): Migration {
  return {
    async up(db) {
      if (migrationLocks) await sql.raw(migrationLocks.limit).execute(db)
      await up(db)
      await sql`update database_identity set version = ${by},
        runs_with = case when runs_with < ${runsWith} then ${runsWith} else runs_with end`.execute(
        db,
      )
    },
  }
}

async function migrator({ dialect }: Database, db: Queryable, release: Release): Promise<Migrator> {
  // Kysely takes a lock of the database for the whole run, so nodes that start together migrate
  // once and the others wait.
  return new Migrator({
    db,
    provider: { getMigrations: async () => allMigrations(dialect, release) },
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
 * @param wayBack how to return from a newer version to this one, as the end of the sentence
 */
export function findSchemaProblem(
  { dialect, writer }: Database,
  wayBack: Refusals['wayBack'],
  release = thisRelease,
): Promise<string | null> {
  const known = Object.keys(allMigrations(dialect, release))
  return schemaProblem({ dialect, db: writer, known, version: release.version, wayBack })
}

/** A change of the schema that {@link migrate} would make. */
export interface SchemaChange {
  /** The number of the schema of the database; 0 = it is empty. */
  readonly from: number
  readonly to: number
}

/** @returns null for a database whose schema is up to date */
export async function pendingChange(
  { dialect, writer }: Database,
  release = thisRelease,
): Promise<SchemaChange | null> {
  const applied = await appliedMigrations(dialect, writer)
  const known = Object.keys(allMigrations(dialect, release))
  if (known.every((name) => applied.includes(name))) return null
  return { from: applied.length === 0 ? 0 : schemaNumber(applied), to: schemaNumber(known) }
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
  release = thisRelease,
  patienceMs = lockPatienceMs,
): Promise<string[]> {
  const { dialect } = database
  if ((await pendingChange(database, release)) === null) return []
  const deadline = performance.now() + patienceMs
  for (;;) {
    try {
      return await migrateOnce(database, release)
    } catch (error) {
      const isLocked = dialect.migrationLocks?.isRefused((error as Error).cause) ?? false
      if (!isLocked) throw error
      if (performance.now() > deadline) throw lockedError(error as Error)
      await sleep(lockPauseMs)
    }
  }
}

async function migrateOnce(database: Database, release: Release): Promise<string[]> {
  const { error, results } = await database.withoutDeadline(async (db) =>
    (await migrator(database, db, release)).migrateToLatest(),
  )
  const failed = results?.find(({ status }) => status === 'Error')
  if (failed) throw migrationError(failed.migrationName, error)
  if (error) throw error
  return (results ?? []).map((result) => result.migrationName)
}

/** Returns the number of the schema that this build makes. */
export function currentSchemaNumber(database: Pick<Database, 'dialect'>): number {
  return latestSchema(database).number
}

/** Returns the schema that this build makes: its number, and the name of its last migration. */
export function latestSchema(
  { dialect }: Pick<Database, 'dialect'>,
  release = thisRelease,
): {
  readonly number: number
  readonly name: string
} {
  const names = Object.keys(allMigrations(dialect, release))
  return { number: schemaNumber(names), name: names.at(-1) ?? '' }
}

/**
 * Returns the names of the migrations of this build as exports have them: equal for both databases,
 * which make the same tables from other statements.
 */
export function migrationNames(): string[] {
  const statements = { clusteredTable: '', roomForChanges: '' } as SqlDialect
  return Object.keys(allMigrations(statements, thisRelease))
}

/**
 * Returns the end of a sentence about a database that does not have the schema of this build, or null.
 * @param db reads the database
 */
export async function findSchemaDifference(
  { dialect }: Database,
  db: Queryable,
): Promise<string | null> {
  const known = Object.keys(allMigrations(dialect, thisRelease))
  const wayBack = () => 'use that version'
  const problem = await schemaProblem({ dialect, db, known, version, wayBack })
  if (problem !== null) return problem
  const applied = await appliedMigrations(dialect, db)
  if (applied.length === known.length) return null
  if (applied.length === 0) return 'is empty; name that of the installation'
  return applied.length < known.length
    ? 'has the schema of an earlier version; run hermod migrate first'
    : 'has the schema of a newer version; use that version'
}

/** Lists all migrations of this build, and those of a newer build that the database has. */
export async function listMigrations(
  { dialect, writer }: Database,
  release = thisRelease,
): Promise<readonly { readonly name: string; readonly isApplied: boolean }[]> {
  const applied = await appliedMigrations(dialect, writer)
  const known = Object.keys(allMigrations(dialect, release))
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
