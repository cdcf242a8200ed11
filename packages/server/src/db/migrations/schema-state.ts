/** The number of a schema is the number of its last migration, such as 2 for 002-devices. */
import type { Queryable } from '../database.js'
import type { SqlDialect } from '../dialect/dialect.js'
import { sql } from '../kysely.js'

const maxNamedTables = 3
const migrationName = /^(\d{3})-/
const initialName = /^001-initial/

/**
 * Returns the end of a sentence about a database whose schema is not of this build or of an earlier
 * one, or null.
 * @param known the names of all migrations of this build, in order
 */
export async function schemaProblem(
  { listTables }: SqlDialect,
  db: Queryable,
  known: readonly string[],
): Promise<string | null> {
  const { rows } = await sql.raw<{ name: string }>(listTables).execute(db)
  const tables = rows.map(({ name }) => name)
  const applied = tables.includes('kysely_migration') ? await appliedMigrations(db) : []
  const others = tables.filter((name) => !name.startsWith('kysely_')).sort()
  return applied.length === 0 ? foreignTables(others) : listProblem(applied, known)
}

async function appliedMigrations(db: Queryable): Promise<string[]> {
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
  if (applied.length <= known.length) return null
  return `has the schema ${schemaNumber(applied)}, and this build knows schemas up to ${schemaNumber(known)}; start the newer build again, or restore the backup from before the upgrade`
}

/** @param names at least one, in order */
export function schemaNumber(names: readonly string[]): number {
  return Number(migrationName.exec(names.at(-1) ?? '')?.[1] ?? Number.NaN)
}
