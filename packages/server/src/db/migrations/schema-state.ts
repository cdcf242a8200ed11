/** The number of a schema is the number of its last migration, such as 2 for 002-devices. */
import type { Queryable } from '../database.js'
import type { SqlDialect } from '../dialect/dialect.js'
import { sql } from '../kysely.js'

const maxNamedTables = 3
const migrationName = /^(\d{3})-/
const initialName = /^001-initial/

/** A database and the build that may not be able to use it. */
export interface Refusals {
  readonly dialect: SqlDialect
  readonly db: Queryable
  /** The names of all migrations of the build, in order. */
  readonly known: readonly string[]
  readonly version: string
  /**
   * Returns the end of a sentence: how to return to this build from the newer one that has changed
   * the schema.
   */
  wayBack(newerVersion: string): string
}

/**
 * Returns the end of a sentence about a database whose schema is not of this build or of an earlier
 * one, or null.
 */
export async function schemaProblem(options: Refusals): Promise<string | null> {
  const { dialect, db, known } = options
  const tables = await tablesOf(dialect, db)
  const applied = await namesIn(tables, db)
  const others = tables.filter((name) => !name.startsWith('kysely_')).sort()
  if (applied.length === 0) return foreignTables(others)
  return listProblem(applied, known) ?? (await newerProblem(applied, options))
}

/** Returns the names of the migrations that the database has, in order. */
export async function appliedMigrations(dialect: SqlDialect, db: Queryable): Promise<string[]> {
  return namesIn(await tablesOf(dialect, db), db)
}

async function tablesOf({ listTables }: SqlDialect, db: Queryable): Promise<string[]> {
  const { rows } = await sql.raw<{ name: string }>(listTables).execute(db)
  return rows.map(({ name }) => name)
}

async function namesIn(tables: readonly string[], db: Queryable): Promise<string[]> {
  if (!tables.includes('kysely_migration')) return []
  const { rows } = await sql<{ name: string }>`select name from kysely_migration`.execute(db)
  return rows.map(({ name }) => name).sort()
}

function foreignTables(names: readonly string[]): string | null {
  if (names.length === 0) return null
  const named = names.slice(0, maxNamedTables).join(', ')
  const more = names.length > maxNamedTables ? ' and others' : ''
  return `holds tables that no migration of the service has made (${named}${more}); use an empty one, or restore a backup`
}

function listProblem(applied: readonly string[], known: readonly string[]): string | null {
  const [first = ''] = applied
  if (initialName.test(first) && first !== known[0])
    return "has the schema of another build before 0.1.0, and such builds do not open one another's data; start the build that made it, or use an empty one"
  const missing = known.find((name, at) => at < applied.length && applied[at] !== name)
  if (missing !== undefined) {
    const odd = applied.find((name) => !known.includes(name))
    const detail =
      odd === undefined ? `it lacks ${missing}` : `it has ${odd} in place of ${missing}`
    return `has a damaged list of migrations (table kysely_migration): ${detail}; restore a backup`
  }
  return null
}

/** @param applied begins with all known migrations, or is the beginning of them */
async function newerProblem(
  applied: readonly string[],
  { db, known, version, wayBack }: Refusals,
): Promise<string | null> {
  if (applied.length <= known.length) return null
  const { runsWith, newer } = await db
    .selectFrom('database_identity')
    .select(['runs_with as runsWith', 'version as newer'])
    .executeTakeFirstOrThrow()
  if (runsWith <= schemaNumber(known)) return null
  return `has the schema ${schemaNumber(applied)} of version ${newer}, and this is version ${version}, which knows schemas up to ${schemaNumber(known)}; start version ${newer} again, or ${wayBack(newer)}`
}

/** @param names at least one, in order */
export function schemaNumber(names: readonly string[]): number {
  return Number(migrationName.exec(names.at(-1) ?? '')?.[1] ?? Number.NaN)
}
