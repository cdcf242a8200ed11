/** Imports of exports, as the commands run them. */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import type { BlobStore } from '../../blobs/blob-store.js'
import { DiskFloor } from '../../blobs/disk-floor.js'
import { options as settings } from '../../config/options.js'
import type { Database, Queryable } from '../../db/database.js'
import { IdentityStore } from '../../db/identity/identity-store.js'
import { migrate, migrationNames, pendingChange } from '../../db/migrations/migrate.js'
import { appIdPattern } from '../../domain/apps/app-model.js'
import { appPrefix, fileOfKey, originalKey } from '../../domain/files/file-model.js'
import { firstIdAt } from '../../lib/ids/ids.js'
import { SecretKeys } from '../../lib/secrets/secret-keys.js'
import { lockNewFolder } from '../../lib/system/folder-lock.js'
import { listLiveNodes, nodesUse } from '../../nodes/live-nodes.js'
import { exportedText } from '../../transfer/addresses.js'
import type { WorkOptions } from '../../transfer/digest.js'
import {
  databaseProblem,
  type ImportReport,
  type ImportTarget,
  importInstallation,
  maxLeadMs,
  notEmpty,
  requireImportable,
} from '../../transfer/import.js'
import { verifyFiles } from '../../transfer/import-files.js'
import { checkExport, type ExportCheck, type RowRules } from '../../transfer/import-rows.js'
import { lineTypes } from '../../transfer/lines.js'
import {
  type CompleteExport,
  type ExportManifest,
  readExport,
  verifyParts,
} from '../../transfer/manifest.js'
import { undoImport } from '../../transfer/portable.js'
import { portableRules } from '../../transfer/portable-rows.js'
import { TransferError } from '../../transfer/transfer-error.js'
import { openBlobStore } from '../adapters/blob-store.js'
import { loadSecretKeys } from '../secret-key.js'
import { secretKeyIds, usedKeyId } from './data-at-rest.js'
import { type DatabaseOptions, databasePath, openDatabase } from './open-database.js'
import { ImportedSecrets } from './portable-export.js'
import { portableRowProblem } from './portable-row-rules.js'
import { keyRemedy, withDiskErrors } from './transfer.js'

/** The result of a check of an export and of this installation. */
export interface ImportCheck extends ExportCheck {
  readonly version: string
  readonly created_at: string
  readonly kind: ExportManifest['kind']
  readonly apps: ExportManifest['apps']
  readonly files: ExportManifest['files']
}

/** Far above every number that a service reaches, and as far below the end of exact numbers. */
const greatest = 2 ** 52

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
  const found = await verifiedExport(options, from, { ...work, readsFiles: false })
  return withTarget(options, async (database, openFiles) => {
    await requireTarget(database, found, options)
    await migrate(database, options.release)
    const requireNoService = () => requireNoNodes(database)
    await requireNoService()
    const rules = await rulesFor(options, found, database)
    const target = { database, files: await openFiles(), requireNoService, ...rules }
    return importInstallation(found, target, work)
  })
}

/**
 * Removes what an unfinished import of applications has written.
 * @returns the applications
 * @throws TransferError, FolderLockedError
 */
export function undoImportData(
  options: DatabaseOptions,
  work: WorkOptions,
): Promise<readonly string[]> {
  return withTarget(options, async (database, openFiles) => {
    await requireNoNodes(database)
    if ((await pendingChange(database, options.release)) !== null)
      throw new TransferError('the database has no unfinished import of this version')
    const removeFiles = async (appId: string) => removeAll(await openFiles(), appPrefix(appId))
    return database.withoutDeadline((db) => undoImport(db, removeFiles, work))
  })
}

/** Opens the database and the files of the settings while no service can start on the folder. */
function withTarget<T>(
  options: DatabaseOptions,
  work: (database: Database, openFiles: () => Promise<BlobStore>) => Promise<T>,
): Promise<T> {
  const { config, secrets } = options
  return withDiskErrors(async () => {
    const lock = lockNewFolder(config.dataDir)
    try {
      await using database = await openDatabase(options)
      const { store, freeDiskBytes } = config.files
      const folder = store.kind === 'folder' ? store.folder : store.spoolFolder
      const floor = new DiskFloor(folder, freeDiskBytes)
      const identity = new IdentityStore()
      return await work(database, () =>
        openBlobStore(config, secrets, { ...{ database, identity, floor, mayClaim: true } }),
      )
    } finally {
      lock.release()
    }
  })
}

const blobsPerPage = 1_000

async function removeAll(files: BlobStore, prefix: string): Promise<void> {
  for (let isMore = true; isMore; ) {
    const { blobs, next } = await files.list(prefix, null, blobsPerPage)
    await files.remove(blobs.map(({ key }) => key))
    isMore = next !== null
  }
}

async function requireNoNodes(database: Database): Promise<void> {
  const nodes = database.dialect.name === 'postgres' ? await listLiveNodes(database) : []
  if (nodes.length > 0)
    throw new TransferError(
      `${nodesUse(nodes)} the database; stop them (a killed one counts for a minute), or name another database in ${settings.databaseUrl.name}`,
    )
}

function ownerOf(key: string): string | null {
  return fileOfKey(key)?.appId ?? null
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
  const found = await verifiedExport(options, from, { ...work, readsFiles: true })
  const { storage } = options.config
  // SQLite would make the file.
  if (storage.kind === 'postgres' || existsSync(databasePath(storage.dataDir))) {
    await using database = await openDatabase(options)
    await requireTarget(database, found, options)
  }
  const { version, created_at, files, kind, apps } = found.manifest
  const rules = kind === 'move' ? moveRules : portableRulesOf(options, found, checkingSecrets)
  const checked = await checkExport(found, { ...work, rules })
  return { version, created_at, kind, apps, files, ...checked }
}

const moveRules: RowRules = { types: lineTypes.move }
/** Secrets for a check, which stores nothing that they sign. */
const checkingSecrets = { linkKeyOf: () => checkingKey, columnsOf: () => ({}) }
const checkingKey = randomBytes(32)

type Secrets = Pick<ImportedSecrets, 'linkKeyOf' | 'columnsOf'>

function portableRulesOf(
  { config }: DatabaseOptions,
  { manifest }: CompleteExport,
  secrets: Secrets,
): RowRules {
  return portableRules({
    apps: new Set(Object.keys(manifest.apps)),
    linkKeyOf: (appId) => secrets.linkKeyOf(appId),
    base: config.http.publicUrl,
    greatest,
    greatestId: firstIdAt(Date.now() + maxLeadMs),
    secretsOf: (appId) => secrets.columnsOf(appId),
    rowProblem: portableRowProblem,
  })
}

async function rulesFor(
  options: DatabaseOptions,
  found: CompleteExport,
  database: Database,
): Promise<Pick<ImportTarget, 'rules' | 'textOf'>> {
  const { kind, apps } = found.manifest
  if (kind === 'move') return { rules: moveRules }
  await database.read((db) => requireOwnKey(db, secretKeyIds(options)))
  const { current, previous } = loadSecretKeys(options.config.dataDir, options.secrets)
  const keys = new SecretKeys(current, previous)
  const secrets = await database.read((db) => ImportedSecrets.open(database, db, { keys, apps }))
  return {
    rules: portableRulesOf(options, found, secrets),
    textOf: (appId, text) => exportedText((of) => secrets.linkKeyOf(of), appId, text),
  }
}

/** The secrets of imported applications are sealed with the key of the installation. */
async function requireOwnKey(db: Queryable, keyIds: readonly string[]): Promise<void> {
  const needed = await usedKeyId(db)
  if (needed !== null && !keyIds.includes(needed))
    throw new TransferError(
      `the import needs the secret key of this installation (${needed}), with which its secrets are encrypted; put its secret.key into the data folder, or set ${settings.secretKey.name}`,
    )
}

/** @throws TransferError for an export that is changed, or that this installation cannot take */
async function verifiedExport(
  options: DatabaseOptions,
  from: string,
  work: WorkOptions & { readonly readsFiles: boolean },
): Promise<CompleteExport> {
  const { files, http } = options.config
  const found = await readExport(resolve(from))
  requireAppIds(found)
  const keyIds = secretKeyIds(options)
  requireImportable(found, {
    ...{ keyIds, keyRemedy, migrations: migrationNames(), store: files.store.kind },
    hasAddress: http.publicUrl !== null,
    now: Date.now(),
  })
  await verifyParts(found, work)
  await verifyFiles(found, { ...work, fileKey: originalKey, ownerOf })
  return found
}

/** An undo removes rows and files by these. */
function requireAppIds({ manifest }: CompleteExport): void {
  const foreign = Object.keys(manifest.apps).find((appId) => !appIdPattern.test(appId))
  if (foreign !== undefined)
    throw new TransferError(
      `manifest.json of the export has the application ${foreign}, and no application has such an ID; run hermod export again`,
    )
}

/** A database without tables is empty, too. One of an earlier version stays as it is. */
async function requireTarget(
  database: Database,
  found: CompleteExport,
  { release }: DatabaseOptions,
): Promise<void> {
  const change = await pendingChange(database, release)
  if (change?.from === 0) return
  const problem = change
    ? earlierSchema(change.from, found)
    : await database.snapshot((db) => databaseProblem(db, found))
  if (problem !== null) throw new TransferError(problem)
}

function earlierSchema(number: number, { manifest: { kind } }: CompleteExport): string {
  const has = `the schema ${number} of an earlier version`
  return kind === 'move'
    ? notEmpty(has)
    : `the database has ${has}; start this version on it once, or run hermod migrate`
}
