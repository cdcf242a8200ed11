import type { Database, Queryable } from '../database.js'
import type { SqlDialect } from '../dialect/dialect.js'
import { type Migration, type MigrationInfo, Migrator, sql } from '../kysely.js'
import { initialMigration } from './001-initial.js'
import { type MigrationNotice, onePassPushes } from './002-one-pass-pushes.js'
import { addedMembers } from './003-added-members.js'
import { silentBindings } from './004-silent-bindings.js'
import { messageTimes } from './005-message-times.js'
import { loginNetworks } from './006-login-networks.js'
import { fileWithdrawals } from './007-file-withdrawals.js'
import { pushTokenOwners } from './008-push-token-owners.js'
import { realtime } from './009-realtime.js'
import { webhooks } from './010-webhooks.js'
import { webhookVersions } from './011-webhook-versions.js'
import { unaskedContacts } from './012-unasked-contacts.js'
import { mobileKeys } from './013-mobile-keys.js'
import { schemaNumber, schemaProblem } from './schema-state.js'

const noNotice: MigrationNotice = () => {}

function migrations(dialect: SqlDialect, notice: MigrationNotice): Record<string, Migration> {
  return {
    '001-initial': initialMigration(dialect),
    '002-one-pass-pushes': onePassPushes(notice),
    '003-added-members': addedMembers,
    '004-silent-bindings': silentBindings,
    '005-message-times': messageTimes,
    '006-login-networks': loginNetworks(dialect),
    '007-file-withdrawals': fileWithdrawals,
    '008-push-token-owners': pushTokenOwners,
    '009-realtime': realtime(dialect),
    '010-webhooks': webhooks(dialect),
    '011-webhook-versions': webhookVersions,
    '012-unasked-contacts': unaskedContacts,
    '013-mobile-keys': mobileKeys,
  }
}

async function migrator(
  { dialect }: Database,
  db: Queryable,
  notice = noNotice,
): Promise<Migrator> {
  // Kysely takes a lock of the database for the whole run, so nodes that start together migrate once and the others wait.
  return new Migrator({
    db,
    provider: { getMigrations: async () => migrations(dialect, notice) },
    // The order of the list is that of the clock, which may have been wrong; findSchemaProblem checks the names.
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
 * schema of a newer build, with other tables, or with a damaged list of migrations. Null otherwise.
 */
export function findSchemaProblem({ dialect, writer }: Database): Promise<string | null> {
  return schemaProblem(dialect, writer, Object.keys(migrations(dialect, noNotice)))
}

/**
 * Brings the schema up to date. Safe to run from several nodes at once.
 *
 * @param notice reports what operators should know; default: reports nothing
 * @returns the names of the migrations that this call ran
 * @throws Error that names the failed migration; nothing is changed then
 */
export async function migrate(database: Database, notice = noNotice): Promise<string[]> {
  const { error, results } = await database.withoutDeadline(async (db) =>
    (await migrator(database, db, notice)).migrateToLatest(),
  )
  const failed = results?.find(({ status }) => status === 'Error')
  if (failed) throw migrationError(failed.migrationName, error)
  if (error) throw error
  return (results ?? []).map((result) => result.migrationName)
}

/** @returns every known migration in order, with when it ran */
export async function listMigrations(database: Database): Promise<readonly MigrationInfo[]> {
  return (await migrator(database, database.writer)).getMigrations()
}

function migrationError(name: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  const to = schemaNumber([name])
  return new Error(
    `the schema could not be brought to ${to}, since the migration ${name} failed: ${reason}; nothing was changed; restore a backup, or start the version that made the data`,
    { cause },
  )
}
