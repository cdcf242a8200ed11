/** Digests and exports of an installation, as the commands run them. */
import { join, resolve } from 'node:path'
import { BlobError } from '../../blobs/blob-store.js'
import { FolderStore } from '../../blobs/folder-store.js'
import { options as settings } from '../../config/options.js'
import type { Database, Queryable } from '../../db/database.js'
import { migrationNames } from '../../db/migrations/migrate.js'
import { backupCreation, backupPruning } from '../../domain/backup/backup-service.js'
import { backupVerification } from '../../domain/backup/verification-service.js'
import { dataExport } from '../../domain/erasure/export/data-export-service.js'
import { originalKey } from '../../domain/files/file-model.js'
import { blobRemoval } from '../../domain/files/removal/file-removal.js'
import { sendAudienceBatch, sendBatch } from '../../domain/push/tasks/push-jobs.js'
import { type Digest, digestDatabase, type WorkOptions } from '../../transfer/digest.js'
import { type ExportPlan, type ExportReport, exportInstallation } from '../../transfer/export.js'
import { type ExportKind, wholeScope } from '../../transfer/lines.js'
import { exportFiles } from '../../transfer/manifest.js'
import { TransferError } from '../../transfer/transfer-error.js'
import {
  atRest,
  findSecretKeys,
  isCopy,
  openFilesAtRest,
  readData,
  readDataAtRest,
  secretKeyIds,
  usedKeyId,
} from './data-at-rest.js'
import type { DatabaseOptions } from './open-database.js'
import { portableExport } from './portable-export.js'

/** Jobs that change no row of an export, and may be left out of it. */
const droppableJobs: readonly string[] = [
  ...[sendBatch, sendAudienceBatch, blobRemoval],
  ...[backupCreation, backupPruning, backupVerification, dataExport],
].map(({ name }) => name)

export const keyRemedy = `put secret.key of that installation into the data folder, or set ${settings.secretKey.name} to its key`

/** The rows that a digest or an export has. */
interface ChosenRows {
  readonly kind: ExportKind
  /** Applications of a portable export; [] = all. */
  readonly apps: readonly string[]
}

/** Computes the digest of the data; a service may run. @throws TransferError */
export function digestData(
  options: DatabaseOptions,
  { kind, apps }: ChosenRows,
  work: WorkOptions,
): Promise<Digest> {
  return readData(options, async (db, database) => {
    if (kind === 'move') return digestDatabase(db, work)
    const keys = findSecretKeys(options)
    const { scope } = await portableExport(database, db, { keys, wanted: apps })
    return digestDatabase(db, work, scope)
  })
}

/**
 * Exports an installation that no service runs on, or applications of it, into a folder.
 * @throws TransferError, FolderLockedError
 */
export async function exportData(
  options: DatabaseOptions,
  {
    to,
    version,
    dropsUndelivered,
    ...chosen
  }: ChosenRows & {
    readonly to: string
    readonly version: string
    readonly dropsUndelivered: boolean
  },
  work: WorkOptions,
): Promise<ExportReport> {
  const folder = resolve(to)
  return withDiskErrors(() =>
    atRest(options, async () => {
      const names = migrationNames()
      const source = {
        ...{ version, fileKey: originalKey, droppableJobs },
        engine: options.config.storage.kind,
        schema: { number: names.length, name: names.at(-1) ?? '' },
        openFiles: () => openFilesAtRest(options),
        snapshot: <T>(read: (db: Queryable, plan: ExportPlan) => Promise<T>) =>
          readDataAtRest(options, async (db, database) =>
            read(db, await planExport(options, { ...chosen, database, db })),
          ),
      }
      const openFiles = () => FolderStore.open(join(folder, exportFiles.files))
      return exportInstallation(source, { folder, dropsUndelivered, openFiles }, work)
    }),
  )
}

async function planExport(
  options: DatabaseOptions,
  {
    kind,
    apps: wanted,
    database,
    db,
  }: ChosenRows & { readonly database: Database; readonly db: Queryable },
): Promise<ExportPlan> {
  const is_copy = await isCopy(options, db)
  if (kind === 'portable') {
    const keys = findSecretKeys(options)
    const { apps, scope } = await portableExport(database, db, { keys, wanted })
    return { scope, described: { kind, apps, is_copy, secret_key_fingerprint: '' } }
  }
  const secret_key_fingerprint = await requireKey(db, secretKeyIds(options))
  return { scope: wholeScope, described: { kind, apps: {}, is_copy, secret_key_fingerprint } }
}

/** @returns the key that the secrets need. @throws TransferError without it */
async function requireKey(db: Queryable, keyIds: readonly string[]): Promise<string> {
  const needed = (await usedKeyId(db)) ?? keyIds[0]
  if (needed === undefined || !keyIds.includes(needed))
    throw new TransferError(
      `the export needs the secret key of the installation (${needed ?? 'any'}), to show that you have it: the secrets in the export open with it alone; ${keyRemedy}`,
    )
  return needed
}

/** Says in a sentence that a disk is full or read only. */
export async function withDiskErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code, message, path } = error as NodeJS.ErrnoException
    if (code === 'EROFS')
      throw new TransferError(
        `${path ?? 'a folder'} cannot be written, since its disk is read only; mount it for writing, or name another folder`,
        { cause: error },
      )
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
