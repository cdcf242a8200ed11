/** Verification of backups and of restored copies, beside a service or without one. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { upkeepChecks } from '@hermod/protocol'
import { BackupError } from '../../backup/backup-error.js'
import { readPassphrase } from '../../backup/encryption/passphrase.js'
import { checkBytes, type OpenedBackup, openBackup } from '../../backup/backup-files.js'
import { listedBlobs } from '../../backup/listed-blobs.js'
import {
  type CheckedData,
  faultsError,
  type VerifiedBackup,
  verifyBackup,
} from '../../backup/verify.js'
import { newestBackup, noBackupYet } from '../../backup/target.js'
import type { BlobStore } from '../../blobs/blob-store.js'
import { NoStore } from '../../blobs/no-store.js'
import { options } from '../../config/options.js'
import type { Database } from '../../db/database.js'
import { sqliteDialect } from '../../db/dialect/sqlite.js'
import { latestSchema } from '../../db/migrations/migrate.js'
import type { Passphrase } from '../../lib/secrets/passphrase-file.js'
import { redactUrl } from '../../lib/secrets/redact.js'
import { keyId } from '../../lib/secrets/secret-keys.js'
import { listLiveNodes, nodesUse } from '../../nodes/live-nodes.js'
import { createLog } from '../../observability/log.js'
import { type Digest, digestDatabase, rowsOf, type WorkOptions } from '../../transfer/digest.js'
import { type ContextOptions, openContext } from '../context.js'
import { hasSecretKey, loadSecretKeys } from '../secret-key.js'

/** A backup to verify, as the command names it. */
export interface BackupChoice {
  /** The name of a backup in the folder, or its path; null: the newest complete one. */
  readonly backup: string | null
  /** The folder of the backups; null: that of the settings. */
  readonly folder: string | null
  /** The file with the secret key of the backup; null: that of the settings or of the data folder. */
  readonly keyFile: string | null
  /** The file with the passphrase of an encrypted backup; null: that of the settings. */
  readonly passphraseFile: string | null
  /**
   * The folder in which the database is restored; null: the folder of the backups, and for an
   * encrypted backup the data folder.
   */
  readonly temporary: string | null
}

/** A verified copy of a PostgreSQL database. */
export interface VerifiedCopy {
  readonly rows: number
  /** Checked in the database. */
  readonly facts: number
  /** The files of a backup that were compared; null: none was named. */
  readonly files: number | null
  readonly digest: Digest
}

type Loaded = Pick<ContextOptions, 'config' | 'secrets' | 'release'>

/** A backup that is open, with the secret keys that it needs. */
export interface ChosenBackup {
  readonly backup: OpenedBackup
  readonly keys: readonly string[]
}

/** Verifies a backup. @throws BackupError that says what is wrong and what to do */
export async function verifyChosenBackup(
  loaded: Loaded,
  choice: BackupChoice,
  work: WorkOptions,
): Promise<VerifiedBackup> {
  const chosen = await openChosenBackup(loaded, choice)
  const temporary = choice.temporary === null ? null : resolve(choice.temporary)
  const place = temporary ?? (chosen.backup.secrets && placeOfPlain(loaded))
  return verifyOpenedBackup(loaded, chosen, { ...work, temporary: place })
}

/** @throws BackupError that says what is wrong and what to do */
export function verifyOpenedBackup(
  loaded: Loaded,
  { backup, keys }: ChosenBackup,
  { temporary, ...work }: WorkOptions & { readonly temporary: string | null },
): Promise<VerifiedBackup> {
  return verifyBackup({
    ...{ ...work, backup, temporary },
    schema: latestSchema({ dialect: sqliteDialect(':memory:') }, loaded.release),
    keyIds: keys.map((key) => keyId(Buffer.from(key))),
    check: (folder, blobs) => check(restoredOptions(loaded, { folder, blobs, keys })),
  })
}

/**
 * Opens a backup with the keys that it needs: an encrypted one has them inside.
 * @throws BackupError
 */
export async function openChosenBackup(
  loaded: Loaded,
  choice: Pick<BackupChoice, 'backup' | 'folder' | 'keyFile' | 'passphraseFile'>,
): Promise<ChosenBackup> {
  const { keyFile, passphraseFile } = choice
  const passphrase = passphraseOf(loaded, passphraseFile)
  const backup = await openBackup(await backupPath(loaded, choice), passphrase)
  if (backup.secrets === null && passphraseFile !== null)
    throw new BackupError(
      `the backup ${backup.folder} is not encrypted, so that its passphrase proves nothing of it; leave --passphrase-file out if you trust the folder`,
    )
  if (backup.secrets !== null && keyFile !== null)
    throw new BackupError(
      `the backup ${backup.folder} has its secret key inside; leave --key-file out`,
    )
  return { backup, keys: backup.secrets?.secretKeys ?? keysOf(loaded, keyFile) }
}

function passphraseOf({ secrets }: Loaded, file: string | null): Passphrase | null {
  if (file !== null) return readPassphrase(resolve(file), '--passphrase-file')
  const { backupPassphrase: text } = secrets
  return text === null ? null : { text, source: options.backupPassphraseFile.name }
}

/** The disk of the data has it in plain anyway; that of the backups never. */
function placeOfPlain({ config }: Loaded): string {
  return existsSync(config.dataDir) ? config.dataDir : tmpdir()
}

/**
 * Verifies a restored copy of a PostgreSQL database, on which no node may run. With a backup of files
 * their bytes are compared, and the rows of files with them.
 * @throws BackupError that says what is wrong and what to do
 */
export async function verifyCopy(
  loaded: Loaded,
  url: string,
  choice: BackupChoice,
  work: WorkOptions,
): Promise<VerifiedCopy> {
  const folder = mkdtempSync(join(choice.temporary ?? tmpdir(), 'hermod-verify-'))
  try {
    const backup =
      choice.backup === null
        ? null
        : await openBackup(
            await backupPath(loaded, choice),
            passphraseOf(loaded, choice.passphraseFile),
          )
    if (backup) await checkBytes(backup, folder, work)
    using blobs = backup && listedBlobs(backup, folder)
    const store = blobs ?? new NoStore('', 'no backup of files is named')
    const keys = keysOf(loaded, choice.keyFile)
    const opening = copyOptions(loaded, { folder, url, blobs: store, keys })
    let digest: Digest = {}
    const { checked, faults } = await check(opening, async (database) => {
      await requireNoNodes(database)
      digest = await database.snapshot((db) => digestDatabase(db, work))
      work.progress?.({ done: 0, total: 0, text: 'checking the facts in the database' })
    })
    if (faults.length > 0) throw faultsError('copy', faults)
    return {
      rows: rowsOf(digest),
      facts: checked,
      files: backup?.manifest.files.count ?? null,
      digest,
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Returns the path of a backup. @throws BackupError */
async function backupPath(
  { config }: Loaded,
  { backup, folder }: Pick<BackupChoice, 'backup' | 'folder'>,
): Promise<string> {
  if (backup?.includes('/')) return backup
  if (backup !== null && folder === null && existsSync(backup)) return backup
  const target = folder ?? config.backup.folder
  if (target === null)
    throw new BackupError(
      backup === null
        ? 'there is no folder of backups; name it with --to, or set HERMOD_BACKUP_DIR'
        : `there is no backup ${backup} in this folder, and HERMOD_BACKUP_DIR is not set; give the path of the backup`,
    )
  return join(target, backup ?? (await newestIn(target)))
}

async function newestIn(target: string): Promise<string> {
  const newest = await newestBackup(target)
  if (newest !== null) return newest
  if (!existsSync(target)) throw noBackupYet(target)
  throw new BackupError(`${target} has no complete backup; make one with hermod backup create`)
}

/** The current key first, then the previous one of a rotation; none is made. */
function keysOf({ config, secrets }: Loaded, keyFile: string | null): readonly string[] {
  if (keyFile !== null) {
    const keys = readKeyFile(keyFile).trimEnd().split('\n')
    if (keys.length > 2 || keys.some((key) => key.length < 32))
      throw new BackupError(`${keyFile} holds no secret key; name the secret.key of a data folder`)
    return keys
  }
  if (!hasSecretKey(config.dataDir, secrets)) return []
  const { current, previous } = loadSecretKeys(config.dataDir, secrets)
  return [current, ...(previous === null ? [] : [previous])].map((key) => key.toString())
}

function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new BackupError(`the key file ${path} cannot be read: ${(error as Error).message}`)
  }
}

interface Restored {
  readonly folder: string
  readonly blobs: BlobStore
  readonly keys: readonly string[]
}

/** A service on the restored folder, whose files are those of the backup. */
function restoredOptions(
  { config, secrets, release }: Loaded,
  { folder, blobs, keys }: Restored,
): ContextOptions {
  const [secretKey = null, secretKeyOld = null] = keys as readonly (string | null)[]
  return {
    config: {
      ...config,
      dataDir: folder,
      storage: { kind: 'sqlite', dataDir: folder },
      migrate: 'auto',
      backup: { ...config.backup, folder: null },
      files: {
        ...config.files,
        store: { kind: 'folder', folder: join(folder, 'files'), isShared: false },
      },
    },
    secrets: { ...secrets, databaseUrl: null, secretKey, secretKeyOld },
    log: createLog('silent'),
    // The database is a copy already.
    withoutCopy: true,
    release,
    blobs,
  }
}

function copyOptions(
  loaded: Loaded,
  { url, ...restored }: Restored & { readonly url: string },
): ContextOptions {
  const opening = restoredOptions(loaded, restored)
  const { storage } = loaded.config
  const pool = storage.kind === 'postgres' ? storage : { maxConnections: 2, deadlineMs: 60_000 }
  return {
    ...opening,
    urlSource: '--url',
    config: {
      ...opening.config,
      storage: { ...pool, kind: 'postgres', redactedUrl: redactUrl(url) },
      migrate: 'manual',
    },
    secrets: { ...opening.secrets, databaseUrl: url },
  }
}

/** Opens the data as a service does, without its workers, and checks it as `hermod check` does. */
async function check(
  opening: ContextOptions,
  readFirst: (database: Database) => Promise<void> = async () => {},
): Promise<CheckedData> {
  const context = await openContext(opening)
  try {
    await readFirst(context.database)
    const { checked, faults } = await context.services.integrity.integrity.check()
    return { checked, faults: faults.filter((fault) => !(fault.check in upkeepChecks)) }
  } finally {
    await context.stop()
  }
}

/** Nodes on a copy are a sign that it is the database in use. */
async function requireNoNodes(database: Database): Promise<void> {
  const nodes = await listLiveNodes(database)
  if (nodes.length > 0)
    throw new BackupError(
      `${nodesUse(nodes)} the database of --url (a copy shows them for a minute); name a restored copy, on which no node runs`,
    )
}
