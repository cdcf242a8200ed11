import { type QueryExecutorProvider, sql } from '../../kysely.js'

interface Found {
  readonly version: number
  readonly name: string
  readonly user: string
  readonly encoding: string
  readonly schema: string | null
  readonly path: string
  readonly mayCreate: boolean | null
}

const oldestVersion = 15

/**
 * Returns the end of a sentence about a database that the service cannot use: the version, the
 * encoding, the schema, or the right to create tables.
 * @returns null when it can be used
 */
export async function postgresProblem(db: QueryExecutorProvider): Promise<string | null> {
  const { rows } = await sql<Found>`
    select current_setting('server_version_num')::int / 10000 as version,
      current_database()::text as name, current_user::text as "user",
      pg_encoding_to_char(encoding)::text as encoding, current_schema()::text as schema,
      current_setting('search_path') as path,
      to_regclass('kysely_migration') is not null
        or has_schema_privilege(current_schema(), 'create') as "mayCreate"
    from pg_database where datname = current_database()`.execute(db)
  return problemOf(rows[0] as Found)
}

function problemOf(found: Found): string | null {
  const { version, name, user, encoding, schema, path, mayCreate } = found
  if (version < oldestVersion)
    return `is of PostgreSQL ${version}; the service needs ${oldestVersion} or newer`
  if (encoding !== 'UTF8')
    return `has the encoding ${encoding} and cannot store every text; create one with createdb --template=template0 --encoding=UTF8 --locale=C --owner=${user} ${name}_utf8, and name it in the URL`
  if (schema === null)
    return `has none of the schemas of its search_path (${path}); run CREATE SCHEMA with the name of one of them, or correct the options of the URL`
  if (!mayCreate)
    return `does not let the user ${user} create tables in the schema ${schema}; run GRANT CREATE ON SCHEMA ${schema} TO ${user} in it`
  return null
}
