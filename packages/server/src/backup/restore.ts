/** Restores a backup into a data folder. */
import { mkdir, readdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { serviceStates } from '@hermod/protocol'
import { Database } from '../db/database.js'
import { sqliteDialect } from '../db/dialect/sqlite.js'
import { raiseIdSlots } from '../db/id-reservations.js'
import { IdentityStore } from '../db/identity/identity-store.js'
import { currentSchemaNumber, findSchemaProblem, migrate } from '../db/migrations/migrate.js'
import { lockNewFolder, restoringFolder } from '../lib/system/folder-lock.js'
import { sizeOfFile } from '../lib/system/regular-file.js'
import { syncFolder } from '../lib/system/sync-folder.js'
import type { WorkOptions } from '../transfer/digest.js'
import { BackupError } from './backup-error.js'
import type { OpenedBackup } from './backup-files.js'
import { copyChecked, copyError } from './checked-copy.js'
import { filesRoot } from './encryption/files-key.js'
import { listedFilesOf } from './key-index.js'
import { KnownTargets, knownTargetsFile } from './known-targets.js'
import { databasePart, filesPart, type Manifest, privatePart } from './manifest.js'
import { erasuresFile } from './target.js'

export interface RestoreOptions extends WorkOptions {
  readonly backup: OpenedBackup
  /** The data folder: one that does not exist, or is empty. */
  readonly to: string
  /** The secret key of the backup, and the previous one during a rotation. */
  readonly keys: readonly string[]
  /** The data folder gets the keys; false: they are in the settings. */
  readonly keepsKey: boolean
  /** Milliseconds since 1970. */
  readonly now: number
  /** Verifies the backup, with a folder for what it restores. @throws BackupError */
  verify(temporary: string): Promise<void>
}

/** A restored backup. */
export interface RestoredBackup {
  readonly manifest: Manifest
  /** The path of the data folder. */
  readonly folder: string
  /** The size of the backup. */
  readonly bytes: number
}

const keyFile = 'secret.key'
/** The names that a restore makes in a data folder, in the order of their moves. */
const restoredNames = [
  'files',
  keyFile,
  erasuresFile,
  knownTargetsFile,
  `${databasePart}-wal`,
  databasePart,
]
/** Names that an empty data folder may have. */
const emptyNames = ['hermod.lock', 'hermod.pid', 'hermod.reserve', 'lost+found', restoringFolder]
/** Space for the log of the database and the reserve of the folder. */
const spareBytes = 32 * 1024 * 1024

/**
 * Verifies a backup, and makes a data folder of it, whose database is marked as restored. Every byte
 * is compared with its hash once more while it is copied.
 * Everything is written into a folder within the data folder and moved at the end; while that folder
 * is there, no service opens the data folder, and the next restore begins anew.
 *
 * @throws BackupError, FolderLockedError
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoredBackup> {
  const { manifest } = options.backup
  requireRestorable(manifest)
  const to = resolve(options.to)
  const isNew = await requireEmpty(to)
  const lock = lockNewFolder(to, { forRestore: true })
  const work = join(to, restoringFolder)
  try {
    await removeUnfinished(to)
    await mkdir(work, { mode: 0o700 })
    await syncFolder(to)
    const bytes = await requireSpace(to, manifest)
    await options.verify(work)
    await copyAll(work, bytes, options)
    await markRestored(join(work, databasePart), manifest, options.now)
    await moveInto(to, work)
    return { manifest, folder: to, bytes }
  } catch (error) {
    await removeUnfinished(to).catch(() => {})
    throw error
  } finally {
    lock.release()
    if (isNew && (await isUnused(to))) await rm(to, { recursive: true, force: true })
  }
}

function requireRestorable({ engine, schema, version }: Manifest): void {
  if (engine !== 'sqlite')
    throw new BackupError(
      'the backup has the files of an installation on PostgreSQL and no database; restore the database with the tools of PostgreSQL, and copy the files that files.ndjson names (docs/guides/backup-postgresql.md)',
    )
  const known = currentSchemaNumber({ dialect: sqliteDialect(':memory:') })
  if (schema.number > known)
    throw new BackupError(
      `the backup was made by Hermod ${version} with the schema ${schema.number}, and this build knows schemas up to ${known}; restore it with that version or a newer one`,
    )
}

/** @returns whether the folder does not exist */
async function requireEmpty(to: string): Promise<boolean> {
  const names = await namesIn(to)
  const isUnfinished = names?.includes(restoringFolder) ?? false
  const data = names?.filter(
    (name) => !emptyNames.includes(name) && !(isUnfinished && restoredNames.includes(name)),
  )
  if (data !== undefined && data.length > 0)
    throw new BackupError(
      `${to} is not empty: it has ${data.slice(0, 3).join(', ')}; name a folder that does not exist, since a restore writes over nothing`,
    )
  return names === null
}

/** @returns null for a missing folder */
async function namesIn(folder: string): Promise<string[] | null> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new BackupError(`${folder} cannot be used: ${(error as Error).message}`)
  }
}

async function isUnused(to: string): Promise<boolean> {
  return (await namesIn(to))?.every((name) => emptyNames.includes(name)) ?? false
}

/** Removes whatever an unfinished restore has left, the folder that shows it last. */
async function removeUnfinished(to: string): Promise<void> {
  const work = join(to, restoringFolder)
  if ((await namesIn(work)) === null) return
  for (const name of restoredNames) await rm(join(to, name), { recursive: true, force: true })
  await syncFolder(to)
  await rm(work, { recursive: true, force: true })
}

/** @returns the bytes of the backup */
async function requireSpace(to: string, { parts, files }: Manifest): Promise<number> {
  const ofFiles = files.store === 'folder' ? files.bytes : 0
  const bytes = parts.reduce((sum, { size }) => sum + size, ofFiles)
  const { bavail, bsize } = await statfs(to)
  const free = bavail * bsize
  if (free < bytes + spareBytes)
    throw new BackupError(
      `the disk of ${to} has ${free} free bytes, and the backup needs ${bytes + spareBytes}; make room, or name a folder on another disk`,
    )
  return bytes
}

async function copyAll(work: string, total: number, options: RestoreOptions): Promise<void> {
  const { backup, keys, keepsKey, signal, progress } = options
  const { folder, target, manifest, secrets } = backup
  let done = 0
  const copied = (bytes: number) => {
    done += bytes
    signal?.throwIfAborted()
    progress?.({ done, total, text: 'copying' })
  }
  for (const part of manifest.parts.filter(({ name }) => name !== privatePart)) {
    const { name } = part
    const sealed = secrets && name === databasePart ? { key: secrets.dataKey, name } : null
    await copyChecked(join(folder, name), join(work, name), { ...part, sealed, copied })
  }
  if (manifest.files.store === 'folder') await copyFiles(backup, work, copied)
  await rm(join(work, filesPart), { force: true })
  if (keepsKey) await writeFile(join(work, keyFile), keys.join('\n'), { mode: 0o600, flush: true })
  await copyErasures(target, work)
  // Later erasures are listed there too.
  await new KnownTargets(work).add(target)
  await syncFolder(work)
}

/** Copies the list of erasures of the folder of backups. It names persons. */
async function copyErasures(target: string, work: string): Promise<void> {
  const from = join(target, erasuresFile)
  const to = join(work, erasuresFile)
  try {
    await sizeOfFile(from, (problem) => new Error(problem))
    await writeFile(to, await readFile(from), { mode: 0o600, flush: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
      throw copyError(from, to, error as NodeJS.ErrnoException)
  }
}

/** Copies the files that the backup names. */
async function copyFiles(
  { target, manifest, secrets }: OpenedBackup,
  work: string,
  copied: (bytes: number) => void,
): Promise<void> {
  const root = filesRoot(target, manifest.encryption)
  const made = new Set<string>()
  for (const { key, size, sha256 } of listedFilesOf(join(work, filesPart))) {
    const to = join(work, 'files', key)
    if (!made.has(dirname(to))) await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    made.add(dirname(to))
    const sealed = secrets && { key: secrets.filesKey, name: key }
    await copyChecked(join(root, 'files', key), to, { size, sha256, sealed, copied })
  }
  for (const each of made) await syncFolder(each)
}

/**
 * Begins a new history in the database, so that whatever operators append before the restore is
 * finished is in it, and marks the database as restored.
 */
async function markRestored(path: string, manifest: Manifest, now: number): Promise<void> {
  await using database = new Database(sqliteDialect(path))
  const problem = await findSchemaProblem(
    database,
    (newer) => `restore the backup with version ${newer}`,
  )
  if (problem !== null) throw new BackupError(`the database of the backup ${problem}`)
  await migrate(database)
  const identity = new IdentityStore()
  const text = `the data is that of the backup of ${manifest.created_at}, and the restore is not finished`
  await database.transaction(async (tx) => {
    await identity.forgetFilesFolder(tx)
    await identity.renew(tx)
    await raiseIdSlots(tx, now)
    await identity.setState(tx, { state: 'restored', text, since: now }, serviceStates)
  })
}

/** Moves everything into the data folder; the folder that shows an unfinished restore goes last. */
async function moveInto(to: string, work: string): Promise<void> {
  const names = await readdir(work)
  for (const name of restoredNames)
    if (names.includes(name)) await rename(join(work, name), join(to, name))
  await syncFolder(to)
  await rm(work, { recursive: true })
  await syncFolder(to)
}
