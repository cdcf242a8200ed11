/**
 * The lock of a data folder, held by one process at a time.
 *
 * Node has no file locks. SQLite takes those of the operating system, which end with the process.
 * So the lock is an open exclusive transaction on an empty database in the folder.
 *
 * NOTE: POSIX drops a process's locks on a file as soon as that process closes any descriptor of
 * it. The holder must never open hermod.lock in another way, not even to copy the folder.
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'
import { openReserve } from './disk-reserve.js'
import { isRunning } from './is-running.js'
import { makeFolderSync } from './make-folder.js'
import { accessText, foreignEntry } from './own-entries.js'

const sqliteBusy = 5
/**
 * The files and folders that the service opens in the folder. It replaces the pid file and the
 * socket instead.
 */
const entries = [
  'hermod.db',
  'hermod.db-wal',
  'hermod.db-shm',
  'hermod.lock',
  'hermod.reserve',
  'node.id',
  'backup-targets.json',
  'secret.key',
  'secret.key.new',
  'files',
]

/** The folder in a data folder that an unfinished restore has left. */
export const restoringFolder = 'restoring'

interface FolderLock {
  /** The disk was nearly full, so that the start used the reserve of the folder. */
  readonly isDiskFull: boolean
  /** Frees the folder; a second call does nothing. */
  release(): void
}

/** Another process uses the folder. */
export class FolderLockedError extends Error {
  override readonly name = 'FolderLockedError'

  /**
   * @param pid the holder's process id; null when unknown
   * @param isLockGone only the pid file shows the holder
   */
  constructor(
    readonly folder: string,
    readonly pid: number | null,
    isLockGone = false,
  ) {
    const holder = pid === null ? 'another process' : `process ${pid}`
    const remedy = 'stop that process or set HERMOD_DATA_DIR to another folder'
    const doubt = '; if it is no Hermod, remove hermod.pid from the folder (hermod.lock is missing)'
    super(`the data folder ${folder} is in use by ${holder}; ${remedy}${isLockGone ? doubt : ''}`)
  }
}

/**
 * Takes an existing folder for this process.
 *
 * @throws FolderLockedError when another process, or another lock of this one, uses it; Error when
 *   this user does not own the folder and its files
 */
export function lockFolder(dir: string): FolderLock {
  const folder = resolve(dir)
  if (!existsSync(folder))
    throw new Error(
      `there is no data folder ${folder}; hermod serve makes it, or set HERMOD_DATA_DIR to the folder of the service`,
    )
  return lock(folder)
}

/**
 * Takes a folder as {@link lockFolder} does, and creates it (mode 700) when it does not exist.
 * @param options.forRestore the folder may have an unfinished restore
 */
export function lockNewFolder(dir: string, { forRestore = false } = {}): FolderLock {
  const folder = resolve(dir)
  try {
    makeFolderSync(folder)
  } catch (error) {
    throw unusable(folder, error)
  }
  return lock(folder, forRestore)
}

function lock(folder: string, forRestore = false): FolderLock {
  if (!forRestore && existsSync(join(folder, restoringFolder)))
    throw new Error(
      `the data folder ${folder} has an unfinished restore; run hermod restore <backup> --to ${folder} again, which begins anew`,
    )
  const pidFile = join(folder, 'hermod.pid')
  const database = openExclusively(folder, pidFile)
  const isDiskFull = openReserve(folder)
  // Replaced: the file of an earlier process may be a link, or belong to another user.
  rmSync(pidFile, { force: true })
  writeFileSync(pidFile, `${process.pid}\n`, { flag: 'wx' })
  return {
    isDiskFull,
    release() {
      if (!database.isOpen) return
      rmSync(pidFile, { force: true })
      database.close()
    },
  }
}

function openExclusively(folder: string, pidFile: string): DatabaseSyncInstance {
  let database: DatabaseSyncInstance | undefined
  try {
    const problem = foreignEntry(folder, entries)
    if (problem !== null) throw new Error(problem)
    const lockFile = join(folder, 'hermod.lock')
    requireNoHolder(folder, lockFile, pidFile)
    database = new DatabaseSync(lockFile, { timeout: 0 })
    // Nothing is ever written, so the journal may live in memory and a killed holder leaves no file
    // to clean up.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return database
  } catch (error) {
    database?.close()
    if (error instanceof FolderLockedError) throw error
    if ((error as { errcode?: number }).errcode === sqliteBusy)
      throw new FolderLockedError(folder, livingHolder(pidFile))
    throw unusable(folder, error)
  }
}

function unusable(folder: string, cause: unknown): Error {
  const { message, code } = cause as NodeJS.ErrnoException
  const access = code === 'EACCES' || code === 'EPERM' ? `; ${accessText(folder)}` : ''
  return new Error(`the data folder ${folder} cannot be used: ${message}${access}`, { cause })
}

/**
 * Removing the lock file hides the lock of its holder from other processes. A killed holder leaves
 * both files and a stopped one leaves the lock file alone, so a pid without a lock file is checked.
 */
function requireNoHolder(folder: string, lockFile: string, pidFile: string): void {
  if (existsSync(lockFile)) return
  const pid = livingHolder(pidFile)
  // In a container every start may have the same pid.
  if (pid !== null && pid !== process.pid) throw new FolderLockedError(folder, pid, true)
}

function livingHolder(pidFile: string): number | null {
  try {
    const pid = Number(readFileSync(pidFile, 'utf8'))
    return Number.isSafeInteger(pid) && pid > 0 && isRunning(pid) ? pid : null
  } catch {
    return null
  }
}
