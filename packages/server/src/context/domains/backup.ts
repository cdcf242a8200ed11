import { join } from 'node:path'
import { readOrderedPassphrase } from '../../backup/encryption/passphrase.js'
import type { BackupSource } from '../../backup/backup-source.js'
import { filesPerPage, namedPage } from '../../backup/database-facts.js'
import { KnownTargets } from '../../backup/known-targets.js'
import { installationOf } from '../../backup/target.js'
import type { BlobStore } from '../../blobs/blob-store.js'
import { DiskFloor } from '../../blobs/disk-floor.js'
import type { ServerConfig } from '../../config/config.js'
import type { ServerSecrets } from '../../config/secrets.js'
import { IdentityStore } from '../../db/identity/identity-store.js'
import { appliedMigrations } from '../../db/migrations/schema-state.js'
import { BackupService, backupCreation, backupPruning } from '../../domain/backup/backup-service.js'
import {
  backupVerification,
  VerificationService,
} from '../../domain/backup/verification-service.js'
import type { FileHolds } from '../../domain/files/removal/file-holds.js'
import { type LongJobs, longJobHandler } from '../../domain/long-jobs/long-job-model.js'
import { hourMs, minuteMs } from '../../lib/clock.js'
import { keyId, type SecretKeys } from '../../lib/secrets/secret-keys.js'
import { version } from '../../lib/version.js'
import { verifyInProcess } from '../adapters/verification-process.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

interface CreateBackupOptions {
  readonly config: ServerConfig
  readonly secrets: Pick<ServerSecrets, 'backupPassphrase'>
  readonly blobs: BlobStore
  readonly fileHolds: FileHolds
  readonly longJobs: LongJobs
  readonly secretKeys: SecretKeys
  /** The secret key is in the data folder. */
  readonly hasKeyFile: boolean
}

/** The service of backups, whose results are those of its jobs. */
export type Backups = ReturnType<typeof createBackup>['services']['backups']

export function createBackup(
  { database, stores, epoch, state, clock, metrics, log }: Infrastructure,
  { config, secrets, blobs, fileHolds, longJobs, secretKeys, hasKeyFile }: CreateBackupOptions,
) {
  const { dataDir, backup, files } = config
  const { daily, weekly, logBytes } = backup
  const { dialect } = database
  const identity = new IdentityStore()
  const { pauseCheckpoints } = dialect
  const dataFolders = [dataDir, ...(files.store.kind === 'folder' ? [files.store.folder] : [])]
  const encryptionOf = (passphraseFile?: string): BackupSource['encryption'] => {
    const passphrase =
      passphraseFile === undefined
        ? secrets.backupPassphrase
        : readOrderedPassphrase(passphraseFile).text
    if (passphrase === null) return null
    const { current, previous } = secretKeys
    const keys = previous === null ? [current] : [current, previous]
    return { passphrase, secretKeys: keys.map(String) }
  }
  const backups = new BackupService({
    folder: backup.folder,
    everyMs: backup.everyMs,
    retention: { daily, weekly },
    isEmbedded: pauseCheckpoints !== undefined,
    filesKind: blobs.kind,
    keySource: hasKeyFile ? 'file' : 'settings',
    known: new KnownTargets(dataDir),
    owner: async () => {
      const busChannel = await database.read((db) => identity.busChannel(db))
      return { installation: installationOf(busChannel), dataFolders }
    },
    hasPassphrase: secrets.backupPassphrase !== null,
    source: async ({ filesOnly, passphraseFile }) => ({
      database:
        filesOnly || !pauseCheckpoints
          ? null
          : {
              ...{ pauseCheckpoints, folder: dataDir, logBytes },
              copyPath: join(dataDir, 'hermod.db.backup'),
              keptBytes: (await new DiskFloor(dataDir, files.freeDiskBytes).readSpace()).floor,
            },
      encryption: encryptionOf(passphraseFile),
      listFiles: async (after) =>
        namedPage(await database.read((db) => stores.files.listAll(db, after, filesPerPage))),
      blobs,
      holdFiles: () => fileHolds.take(),
      epoch: epoch.current,
      migration: (await appliedMigrations(dialect, database.writer)).at(-1) ?? '',
      version,
      keyFingerprint: keyId(secretKeys.current),
      now: () => clock.now(),
    }),
    longJobs,
    clock,
    observer: {
      made: (report) => log.info({ ...report }, 'backup made'),
      pruned: (folder, { removed, removedFiles }) => {
        if (removed.length + removedFiles > 0)
          log.info({ folder, removed, removedFiles }, 'old backups removed')
      },
      failed: (folder, error) =>
        log.error({ folder, reason: (error as Error).message }, 'backup failed'),
      unread: (folder, error) =>
        log.error(
          { folder, reason: (error as Error).message },
          'the folder of backups cannot be read',
        ),
    },
  })
  metrics.storage.watchBackups(() => backups.state)
  const verification = new VerificationService({
    folder: backup.folder,
    backups,
    verify: verifyInProcess,
    longJobs,
    clock,
  })
  return {
    services: { backups, verification },
    longJobHandlers: [
      longJobHandler(backupCreation, (order, run) => backups.create(order, run)),
      longJobHandler(backupPruning, (order, run) => backups.prune(order, run)),
      longJobHandler(backupVerification, (order, run) => verification.verify(order, run)),
    ],
    maintenanceTasks: [
      {
        name: 'backups',
        intervalMs: minuteMs,
        run: async () => {
          if (!state.isRestored) await backups.runSchedule()
        },
      },
      {
        name: 'verified backups',
        intervalMs: hourMs,
        run: async () => {
          if (!state.isRestored) await verification.runSchedule()
        },
      },
    ],
  } satisfies Domain
}
