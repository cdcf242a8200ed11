/** Exports, imports and digests of an installation, as the commands run them. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { BlobError } from '../../blobs/blob-store.js'
import { DiskFloor } from '../../blobs/disk-floor.js'
import { FolderStore } from '../../blobs/folder-store.js'
import { options as settings } from '../../config/options.js'
import { IdentityStore } from '../../db/identity/identity-store.js'
import type { Database, Queryable } from '../../db/database.js'
import { migrate, migrationNames, pendingChange } from '../../db/migrations/migrate.js'
import { backupCreation, backupPruning } from '../../domain/backup/backup-service.js'
import { backupVerification } from '../../domain/backup/verification-service.js'
import { dataExport } from '../../domain/erasure/export/data-export-service.js'
import { originalKey } from '../../domain/files/file-model.js'
import { blobRemoval } from '../../domain/files/removal/file-removal.js'
import { sendAudienceBatch, sendBatch } from '../../domain/push/tasks/push-jobs.js'
import { lockNewFolder } from '../../lib/concurrency/folder-lock.js'
import { sealedKeyId } from '../../lib/secrets/secret-box.js'
import { listLiveNodes } from '../../nodes/live-nodes.js'
import { type Digest, digestDatabase, type WorkOptions } from '../../transfer/digest.js'
import { type ExportReport, exportInstallation } from '../../transfer/export.js'
import {
  checkExport,
  databaseProblem,
  type ExportCheck,
  type ImportReport,
  importInstallation,
  notEmpty,
  requireImportable,
} from '../../transfer/import.js'
import {
  type CompleteExport,
  exportFiles,
  readExport,
  verifyParts,
} from '../../transfer/manifest.js'
import { TransferError } from '../../transfer/transfer-error.js'
import { openBlobStore } from '../adapters/blob-store.js'
import { type DatabaseOptions, databasePath, openDatabase } from './open-database.js'
import {
  atRest,
  isCopy,
  openFilesAtRest,
  readData,
  readDataAtRest,
  secretKeyIds,
} from './data-at-rest.js'

/** The result of a check of an export and of this installation. */
export interface ImportCheck extends ExportCheck {
  readonly version: string
  readonly created_at: string
  readonly files: CompleteExport['manifest']['files']
}

/** Jobs that change no row of an export, and may be left out of it. */
const droppableJobs: readonly string[] = [
  ...[sendBatch, sendAudienceBatch, blobRemoval],
  ...[backupCreation, backupPruning, backupVerification, dataExport],
].map(({ name }) => name)

const keyRemedy = `put secret.key of that installation into the data folder, or set ${settings.secretKey.name} to its key`

/** Computes the digest of the data; a service may run. */
export function digestData(options: DatabaseOptions, work: WorkOptions): Promise<Digest> {
  return readData(options, (db) => digestDatabase(db, work))
}

/**
 * Exports an installation that no service runs on into a folder.
 * @throws TransferError, FolderLockedError
 */
export async function exportData(
  options: DatabaseOptions,
  {
    to,
    version,
    dropsUndelivered,
  }: { readonly to: string; readonly version: string; readonly dropsUndelivered: boolean },
  work: WorkOptions,
): Promise<ExportReport> {
  const folder = resolve(to)
  return withDiskErrors(() =>
    atRest(options, async () => {
      const keyIds = secretKeyIds(options)
      const names = migrationNames()
      const source = {
        ...{ version, fileKey: originalKey, droppableJobs },
        engine: options.config.storage.kind,
        schema: { number: names.length, name: names.at(-1) ?? '' },
        describe: async (db: Queryable) => ({
          secret_key_fingerprint: await requireKey(db, keyIds),
          is_copy: await isCopy(options, db),
        }),
        openFiles: () => openFilesAtRest(options),
        snapshot: <T>(read: (db: Queryable) => Promise<T>) => readDataAtRest(options, read),
      }
      const openFiles = () => FolderStore.open(join(folder, exportFiles.files))
      return exportInstallation(source, { folder, dropsUndelivered, openFiles }, work)
    }),
  )
}

/** @returns the key that the secrets need. @throws TransferError without it */
async function requireKey(db: Queryable, keyIds: readonly string[]): Promise<string> {
  const check = await db.selectFrom('key_checks').select('sealed').executeTakeFirst()
  const needed = (check && sealedKeyId(check.sealed)) ?? keyIds[0]
  if (needed === undefined || !keyIds.includes(needed))
    throw new TransferError(
      `the export needs the secret key of the installation (${needed ?? 'any'}), to show that you have it: the secrets in the export open with it alone; ${keyRemedy}`,
    )
  return needed
}

/**
 * Imports an export into the database and the store of files of the settings. After a kill the same
 * call continues.
 * @throws TransferError, FolderLockedError
 */
export async function importData(
  options: DatabaseOptions,
  { from }: { readonly from: string },
  work: WorkOptions,
): Promise<ImportReport> {
  const { config, secrets } = options
  const found = await verifiedExport(options, from, work)
  return withDiskErrors(async () => {
    const lock = lockNewFolder(config.dataDir)
    try {
      await using database = await openDatabase(options)
      await requireEmpty(database, found, options)
      await migrate(database, options.release)
      const nodes = database.dialect.name === 'postgres' ? await listLiveNodes(database) : []
      if (nodes.length > 0)
        throw new TransferError(
          `the nodes ${nodes.map(({ id }) => id).join(', ')} use the database; name an empty one in ${settings.databaseUrl.name}`,
        )
      const { store, freeDiskBytes } = config.files
      const folder = store.kind === 'folder' ? store.folder : store.spoolFolder
      const floor = new DiskFloor(folder, freeDiskBytes)
      const identity = new IdentityStore()
      const files = await openBlobStore(config, secrets, {
        ...{ database, identity, floor, mayClaim: true },
      })
      return await importInstallation(found, { database, files }, work)
    } finally {
      lock.release()
    }
  })
}

/**
 * Checks an export, and that this installation can take it, without writing anything.
 * @throws TransferError
 */
export async function checkImport(
  options: DatabaseOptions,
  { from }: { readonly from: string },
  work: WorkOptions,
): Promise<ImportCheck> {
  const found = await verifiedExport(options, from, work)
  const { storage } = options.config
  // SQLite would make the file.
  if (storage.kind === 'postgres' || existsSync(databasePath(storage.dataDir))) {
    await using database = await openDatabase(options)
    await requireEmpty(database, found, options)
  }
  const { version, created_at, files } = found.manifest
  const checked = await checkExport(found, work)
  return { version, created_at, files, ...checked }
}

/** @throws TransferError for an export that is changed, or that this installation cannot take */
async function verifiedExport(
  options: DatabaseOptions,
  from: string,
  work: WorkOptions,
): Promise<CompleteExport> {
  const { kind: store } = options.config.files.store
  const found = await readExport(resolve(from))
  const keyIds = secretKeyIds(options)
  requireImportable(found, { keyIds, keyRemedy, migrations: migrationNames(), store })
  await verifyParts(found, work)
  return found
}

/** A database without tables is empty, too. One of an earlier version is not, and stays as it is. */
async function requireEmpty(
  database: Database,
  found: CompleteExport,
  { release }: DatabaseOptions,
): Promise<void> {
  const change = await pendingChange(database, release)
  if (change?.from === 0) return
  const problem = change
    ? notEmpty(`the schema ${change.from} of an earlier version`)
    : await database.snapshot((db) => databaseProblem(db, found))
  if (problem !== null) throw new TransferError(problem)
}

/** Says in a sentence that a disk is full. */
async function withDiskErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    const isFull =
      code === 'ENOSPC' ||
      (error instanceof BlobError && error.reason === 'full') ||
      /disk is full|No space left on device/.test(message)
    if (!isFull) throw error
    throw new TransferError(
      `a disk is full (${message}); free some space and run the same command again, which continues`,
      { cause: error },
    )
  }
}
