import { type QueryExecutorProvider, sql } from '../../kysely.js'

interface Found {
  readonly version: number
  readonly name: string
  readonly user: string
  readonly encoding: string
  readonly schema: string | null
  readonly path: string
  readonly mayCreate: boolean | null
  readonly isStandby: boolean
  readonly isReadOnly: boolean
}

interface Limits {
  readonly user: string
  readonly database: string
  /** -1 = none, as of the database. */
  readonly roleLimit: number
  readonly databaseLimit: number
  /** Without those that are reserved for others. */
  readonly serverLimit: number
}

const oldestVersion = 15

/**
 * Returns the end of a sentence about a database that the service cannot use: the version, the
 * encoding, the schema, a database that only reads, or the right to create tables.
 * @returns null when it can be used
 */
export async function postgresProblem(db: QueryExecutorProvider): Promise<string | null> {
  const { rows } = await sql<Found>`
    select current_setting('server_version_num')::int / 10000 as version,
      current_database()::text as name, current_user::text as "user",
      pg_encoding_to_char(encoding)::text as encoding, current_schema()::text as schema,
      current_setting('search_path') as path, pg_is_in_recovery() as "isStandby",
      current_setting('transaction_read_only')::boolean as "isReadOnly",
      to_regclass('kysely_migration') is not null
        or has_schema_privilege(current_schema(), 'create') as "mayCreate"
    from pg_database where datname = current_database()`.execute(db)
  return problemOf(rows[0] as Found)
}

function problemOf(found: Found): string | null {
  const { version, name, user, encoding, schema, path, mayCreate, isStandby, isReadOnly } = found
  if (version < oldestVersion)
    return `is of PostgreSQL ${version}; the service needs ${oldestVersion} or newer`
  if (encoding !== 'UTF8')
    return `has the encoding ${encoding} and cannot store every text; create one with createdb --template=template0 --encoding=UTF8 --locale=C --owner=${user} ${name}_utf8, and name it in the URL`
  if (isStandby) return 'is a standby, which only reads; name the primary in the URL'
  if (isReadOnly)
    return `only reads, since default_transaction_read_only is on; set it to off for the database ${name} or the user ${user}`
  if (schema === null)
    return `has none of the schemas of its search_path (${path}); run CREATE SCHEMA with the name of one of them, or correct the options of the URL`
  if (!mayCreate)
    return `does not let the user ${user} create tables in the schema ${schema}; run GRANT CREATE ON SCHEMA ${schema} TO ${user} in it`
  return null
}

/** Returns the lowest limit of connections. For superusers only that of the server counts. */
export async function connectionLimit(
  db: QueryExecutorProvider,
): Promise<{ readonly of: string; readonly connections: number }> {
  const { rows } = await sql<Limits>`
    select current_user::text as "user", current_database()::text as database,
      case when rolsuper then -1 else rolconnlimit end as "roleLimit",
      case when rolsuper then -1 else datconnlimit end as "databaseLimit",
      current_setting('max_connections')::int - case when rolsuper then 0
        else current_setting('superuser_reserved_connections')::int
          + coalesce(current_setting('reserved_connections', true)::int, 0) end as "serverLimit"
    from pg_database, pg_roles
    where datname = current_database() and rolname = current_user`.execute(db)
  const { user, database, roleLimit, databaseLimit, serverLimit } = rows[0] as Limits
  const limits = [
    { of: `the role ${user} (CONNECTION LIMIT)`, connections: roleLimit },
    { of: `the database ${database} (CONNECTION LIMIT)`, connections: databaseLimit },
    { of: 'PostgreSQL (max_connections without the reserved ones)', connections: serverLimit },
  ]
  const [lowest] = limits
    .filter(({ connections }) => connections >= 0)
    .sort((a, b) => a.connections - b.connections)
  return lowest as (typeof limits)[0]
}

/**
 * Returns a sentence about the lowest limit below the number of connections that the service may
 * open, or null.
 * @param needed that number
 */
export async function connectionNotice(
  db: QueryExecutorProvider,
  needed: number,
): Promise<string | null> {
  const { of, connections } = await connectionLimit(db)
  return connections < needed
    ? `${of} allows ${connections} connections, fewer than the ${needed} that this node may open`
    : null
}
