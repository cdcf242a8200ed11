import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerConfig } from '../../config/config.js'
import { options as configOptions } from '../../config/options.js'
import type { ServerSecrets } from '../../config/secrets.js'
import { CacheCheck } from '../../db/checks/cache-check.js'
import { Database } from '../../db/database.js'
import { sqliteDialect } from '../../db/dialect/sqlite.js'
import { DatabaseHealth } from '../../db/health.js'
import {
  copyDatabase,
  copyPath,
  keptDays,
  removeOtherCopies,
} from '../../db/migrations/database-copies.js'
import {
  migrate,
  pendingChange,
  type Release,
  type SchemaChange,
  thisRelease,
} from '../../db/migrations/migrate.js'
import type { Logger } from '../../observability/log.js'
import { databaseLog, lostConnectionLog } from './database-log.js'
import { procedures } from './procedures.js'
import { requireUsable } from './start-check.js'

export interface DatabaseOptions {
  readonly config: ServerConfig
  readonly secrets: ServerSecrets
  readonly log: Logger
  /** Leases and jobs go by `clock` too, also with PostgreSQL; for tests that set the time. */
  readonly goesByClock?: boolean | undefined
  /** The schema changes without a copy of the embedded database from before. */
  readonly withoutCopy?: boolean | undefined
  /** The option that names the database of PostgreSQL; default: its setting. */
  readonly urlSource?: string | undefined
  /** The build as which this one opens the database; for tests of upgrades. */
  readonly release?: Release | undefined
}

/** A database whose schema is that of this build, or a newer one on which this build may run. */
export interface CurrentDatabase {
  readonly database: Database
  /** The migrations that this start has run. */
  readonly applied: readonly string[]
  /** The copy from before; null where none was made. */
  readonly copy: string | null
}

/** The opener of a database: the service, `hermod migrate`, or another command. */
export type Opener = 'service' | 'migrate' | 'command'

/** The schema of the database is older than this build, and the opener may not change it. */
export class MigrationNeededError extends Error {
  override readonly name = 'MigrationNeededError'

  constructor({ from, to }: SchemaChange, isManual: boolean) {
    const state = from === 0 ? 'is empty' : `has the schema ${from}`
    const reason = isManual
      ? `${configOptions.migrate.name} is manual`
      : 'only that and a start change the schema of PostgreSQL'
    super(
      `the database ${state} and this build needs the schema ${to}; run hermod migrate, since ${reason}`,
    )
  }
}

/** The file of the embedded database. */
export function databasePath(dataDir: string): string {
  return join(dataDir, 'hermod.db')
}

/**
 * Opens the database of a configuration, and leaves its schema as it is. With the embedded one the
 * caller has locked the folder.
 * @throws Error when it cannot hold the data of this build
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { config, release, urlSource = configOptions.databaseUrl.name } = options
  const { storage } = config
  const name =
    storage.kind === 'sqlite'
      ? databasePath(storage.dataDir)
      : `of ${urlSource} (${storage.redactedUrl})`
  const database = await createDatabase(options)
  try {
    await requireUsable(database, { name, release, wayBack: (newer) => wayBack(config, newer) })
    return database
  } catch (error) {
    await database[Symbol.asyncDispose]().catch(() => {})
    throw error
  }
}

/**
 * Opens the database and brings its schema up to date. The embedded database is copied before, with
 * no connection to it: this process would lose the locks of SQLite when it closes the file.
 * A command changes no schema of PostgreSQL, on which nodes of an earlier build may run; it may make
 * the first one.
 * @throws MigrationNeededError; CopySpaceError; as {@link openDatabase} and {@link migrate}
 */
export async function openCurrentDatabase(
  options: DatabaseOptions,
  opener: Opener,
): Promise<CurrentDatabase> {
  const { config, log, release = thisRelease, withoutCopy = false } = options
  const { storage } = config
  let database = await openDatabase(options)
  try {
    const change = await pendingChange(database, release)
    if (change === null) return { database, applied: [], copy: null }
    const isManual = config.migrate === 'manual'
    const isUpgrade = change.from > 0
    const isShared = storage.kind === 'postgres' && isUpgrade
    if (opener !== 'migrate' && (isManual || (opener === 'command' && isShared)))
      throw new MigrationNeededError(change, isManual)
    let copy: string | null = null
    if (isUpgrade && storage.kind === 'postgres')
      log.warn(
        change,
        `the schema of the database changes now; only a snapshot or backup of PostgreSQL from before leads back to the earlier version. ${configOptions.migrate.name}=manual leaves time to take one`,
      )
    if (isUpgrade && storage.kind === 'sqlite' && !withoutCopy) {
      await database[Symbol.asyncDispose]()
      copy = await copyBefore(databasePath(storage.dataDir), release, { log, change })
      database = await openDatabase(options)
    }
    const applied = await migrate(database, release)
    if (storage.kind === 'sqlite')
      await removeOtherCopies(databasePath(storage.dataDir), release.version)
    log.info({ migrations: applied }, 'schema brought up to date')
    return { database, applied, copy }
  } catch (error) {
    await database[Symbol.asyncDispose]().catch(() => {})
    throw error
  }
}

async function copyBefore(
  path: string,
  { version }: Release,
  { log, change }: { readonly log: Logger; readonly change: SchemaChange },
): Promise<string> {
  // The last connection that closes takes the log over into the file.
  const logFile = `${path}-wal`
  if (existsSync(logFile) && statSync(logFile).size > 0)
    throw new Error(
      `another program has ${path} open, which is to be copied before its schema changes; nothing was changed; close that program and start again`,
    )
  log.info(
    { ...change, bytes: statSync(path).size },
    'copying the database before its schema changes',
  )
  const copy = await copyDatabase(path, version)
  log.info(
    { copy },
    `the database from before the change of its schema is kept for ${keptDays} days`,
  )
  return copy
}

/** Returns the end of a sentence about the way back from a newer version. */
function wayBack({ storage }: ServerConfig, newer: string): string {
  if (storage.kind === 'postgres')
    return 'restore the snapshot of PostgreSQL from before the upgrade'
  const path = databasePath(storage.dataDir)
  const copy = copyPath(path, newer)
  return existsSync(copy)
    ? `return to the data from before the upgrade: put ${copy} in the place of ${path}, and run hermod database new-epoch`
    : 'restore the backup from before the upgrade'
}

/** Makes the database of a configuration, without any statement on it. */
export async function createDatabase({
  config,
  secrets,
  log,
  goesByClock,
}: DatabaseOptions): Promise<Database> {
  const { storage, checkAnswers } = config
  const checks = checkAnswers ? { cacheCheck: new CacheCheck(), checksEnds: true } : {}
  const health = new DatabaseHealth(databaseLog(log))
  if (storage.kind === 'sqlite')
    return new Database(
      sqliteDialect(databasePath(storage.dataDir), {
        onCheckpointError: (error) => log.warn({ err: error }, 'checkpoint failed'),
        onLogHeld: (walBytes) =>
          log.warn(
            { walBytes },
            'a reader holds the write-ahead log of the database, which grows until the reader ends; close other programs that have hermod.db open',
          ),
        procedures,
      }),
      checks,
      health,
    )
  // Imported here so that the embedded engine does not load it.
  const { postgresDialect } = await import('../../db/dialect/postgres.js')
  return new Database(
    postgresDialect({
      url: secrets.databaseUrl ?? '',
      poolSize: storage.maxConnections,
      deadlineMs: storage.deadlineMs,
      goesByProcess: goesByClock,
      stalls: health,
      onError: lostConnectionLog(log),
    }),
    checks,
    health,
  )
}
