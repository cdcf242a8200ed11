/** The data of an installation with no service on it: a stopped folder, a copy, a backup, a standby. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { isSealedFile } from '../../backup/encryption/sealed-file.js'
import { completeFile } from '../../backup/target.js'
import type { BlobStore } from '../../blobs/blob-store.js'
import { DiskFloor } from '../../blobs/disk-floor.js'
import { folderReader } from '../../blobs/folder-reader.js'
import { options as settings } from '../../config/options.js'
import type { Database, Queryable } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { findSchemaDifference } from '../../db/migrations/migrate.js'
import { KeyCheckStore } from '../../domain/secrets/key-check-store.js'
import { sealedKeyId } from '../../lib/secrets/secret-box.js'
import { SecretKeys } from '../../lib/secrets/secret-keys.js'
import { FolderLockedError, lockFolder } from '../../lib/system/folder-lock.js'
import { listLiveNodes, nodesUse } from '../../nodes/live-nodes.js'
import { TransferError } from '../../transfer/transfer-error.js'
import { openS3 } from '../adapters/blob-store.js'
import { hasSecretKey, loadSecretKeys } from '../secret-key.js'
import { createDatabase, type DatabaseOptions, databasePath } from './open-database.js'

/**
 * Reads one state of the data, without any change of it. A service may run.
 * @throws Error that names the database and what to do
 */
export async function readData<T>(
  options: DatabaseOptions,
  work: (db: Queryable, database: Database) => Promise<T>,
): Promise<T> {
  const { storage } = options.config
  const name = storage.kind === 'sqlite' ? databasePath(storage.dataDir) : storage.redactedUrl
  // SQLite would make the file.
  if (storage.kind === 'sqlite' && !existsSync(name))
    throw new TransferError(
      `there is no database ${name}; set ${settings.dataDir.name} to the folder of the installation`,
    )
  if (
    storage.kind === 'sqlite' &&
    existsSync(join(storage.dataDir, completeFile)) &&
    isSealedFile(name)
  )
    throw new TransferError(
      `${storage.dataDir} is an encrypted backup; restore it with hermod restore, and set ${settings.dataDir.name} to the restored folder`,
    )
  await using database = await createDatabase(options)
  return await database.snapshot(async (db) => {
    const difference = await findSchemaDifference(database, db)
    if (difference !== null) throw new TransferError(`the database ${name} ${difference}`)
    return work(db, database)
  })
}

/**
 * Runs work on an installation while no service can start on it, where its folder decides that. A
 * service in maintenance may run.
 * @throws FolderLockedError while another service runs
 */
export async function atRest<T>(options: DatabaseOptions, work: () => Promise<T>): Promise<T> {
  const { storage } = options.config
  // The folder of a complete backup belongs to no service.
  const isOwn = storage.kind === 'sqlite' && !existsSync(join(storage.dataDir, completeFile))
  const lock = isOwn ? await lockUnlessInMaintenance(options) : null
  try {
    return await work()
  } finally {
    lock?.release()
  }
}

async function lockUnlessInMaintenance(options: DatabaseOptions) {
  try {
    return lockFolder(options.config.dataDir)
  } catch (error) {
    if (error instanceof FolderLockedError && (await readData(options, isInMaintenance)))
      return null
    throw error
  }
}

/** Nothing of users changes in maintenance. */
async function isInMaintenance(db: Queryable): Promise<boolean> {
  return (await stateOf(db)) === 'maintenance'
}

async function stateOf(db: Queryable): Promise<string> {
  const { state } = await db
    .selectFrom('database_identity')
    .select('state')
    .executeTakeFirstOrThrow()
  return state
}

/** Tells whether the data is that of a backup, a standby or an unfinished restore. */
export async function isCopy(
  { config: { storage } }: DatabaseOptions,
  db: Queryable,
): Promise<boolean> {
  const isElsewhere =
    storage.kind === 'sqlite'
      ? existsSync(join(storage.dataDir, completeFile))
      : await isStandby(db)
  return isElsewhere || (await stateOf(db)) === 'restored'
}

async function isStandby(db: Queryable): Promise<boolean> {
  const { rows } = await sql<{ isStandby: boolean }>`
    select pg_is_in_recovery() as "isStandby"`.execute(db)
  return rows[0]?.isStandby ?? false
}

/** Reads data as {@link readData}. @throws TransferError while nodes use the database */
export function readDataAtRest<T>(
  options: DatabaseOptions,
  work: (db: Queryable, database: Database) => Promise<T>,
): Promise<T> {
  return readData(options, async (db, database) => {
    if (database.dialect.name === 'postgres') await requireNoNodes(db, database)
    return work(db, database)
  })
}

/** A snapshot of a primary would keep every version of its busiest rows. */
async function requireNoNodes(db: Queryable, database: Database): Promise<void> {
  if ((await isStandby(db)) || (await isInMaintenance(db))) return
  const nodes = await listLiveNodes(database)
  if (nodes.length > 0)
    throw new TransferError(
      `${nodesUse(nodes)} the database; stop them (a killed one counts for a minute), run hermod maintenance on, or name a standby or a restored copy in ${settings.databaseUrl.name}`,
    )
}

/**
 * Opens the files of an installation for reading; nothing is written into their folder.
 * @throws TransferError without their folder
 */
export async function openFilesAtRest({
  config,
  secrets,
}: DatabaseOptions): Promise<Pick<BlobStore, 'kind' | 'open' | 'stat'>> {
  const { store, freeDiskBytes } = config.files
  if (store.kind === 's3')
    return openS3(store, secrets, new DiskFloor(store.spoolFolder, freeDiskBytes))
  if (!existsSync(store.folder))
    throw new TransferError(
      `there is no folder ${store.folder} with the files; set ${settings.filesDir.name} to it`,
    )
  return folderReader(store.folder)
}

/** Returns the secret keys of the settings or the data folder; none is made. */
export function findSecretKeys({ config, secrets }: DatabaseOptions): SecretKeys | null {
  if (!hasSecretKey(config.dataDir, secrets)) return null
  const { current, previous } = loadSecretKeys(config.dataDir, secrets)
  return new SecretKeys(current, previous)
}

/** The IDs of {@link findSecretKeys}. */
export function secretKeyIds(options: DatabaseOptions): readonly string[] {
  return findSecretKeys(options)?.ids ?? []
}

/** Returns the ID of the key that the secrets of a database need; null: no service has used it. */
export async function usedKeyId(db: Queryable): Promise<string | null> {
  const sealed = await new KeyCheckStore().find(db)
  return sealed === null ? null : sealedKeyId(sealed)
}
