/** The folder of the backups of one installation. */
import { createHash, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readdir, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join, resolve, sep } from 'node:path'
import { makeFolder } from '../lib/system/make-folder.js'
import { readSmallFile } from '../lib/system/regular-file.js'
import { syncFolder } from '../lib/system/sync-folder.js'
import { BackupError, targetError } from './backup-error.js'
import { type Manifest, manifestText, parseManifest } from './manifest.js'
import { leaseName, TargetLease } from './target-lease.js'

export const manifestFile = 'manifest.json'
/** The file that a backup has when it is complete. */
export const completeFile = 'COMPLETE'
/** The file that a backup has when it was verified. */
export const verifiedFile = 'VERIFIED'
/** The file that names the installation of a folder of backups. */
export const markFile = 'hermod-backups.json'
/** The list of erasures, in the data folder and in every folder of backups. */
export const erasuresFile = 'erasures.ndjson'
const backupName = /^\d{8}T\d{6}Z-[0-9a-z]{6}$/
const incomingPrefix = '.incoming-'
/** Backups have all the data, so that only the user of the service reads them. */
const ownFile = { mode: 0o600, flush: true }
const letters = '0123456789abcdefghjkmnpqrstvwxyz'

/** The installation of a target, and the folders that no target may be in. */
export interface TargetOwner {
  /** See {@link installationOf}. */
  readonly installation: string
  /** Folders with data of the service. */
  readonly dataFolders: readonly string[]
}

/** A complete backup of a target. */
export interface FoundBackup {
  readonly name: string
  readonly folder: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Null: manifest.json is damaged. */
  readonly manifest: Manifest | null
  /** Milliseconds since 1970; null: it was not verified. */
  readonly verifiedAt: number | null
}

/** Returns the name of an installation, which a restored copy shares, from its channel of messages. */
export function installationOf(busChannel: string): string {
  return createHash('sha256').update(`backups of ${busChannel}`).digest('hex').slice(0, 32)
}

/** Returns the name of the newest complete backup in a folder of backups; null for none. */
export async function newestBackup(folder: string): Promise<string | null> {
  return guarded(folder, async () => {
    const names = (await namesIn(folder)).filter((name) => backupName.test(name))
    const complete = names.filter((name) => existsSync(join(folder, name, completeFile)))
    return complete.sort().at(-1) ?? null
  })
}

export class BackupTarget {
  private constructor(readonly folder: string) {}

  /**
   * Opens a target for reading.
   * @throws BackupError when the folder is no target, or that of another installation
   */
  static async open(path: string, owner: TargetOwner): Promise<BackupTarget> {
    const folder = resolve(path)
    return guarded(folder, async () => {
      await requireMark(folder, owner.installation)
      return new BackupTarget(folder)
    })
  }

  /** Checks a folder as {@link openOrMake} does, and makes nothing. @throws BackupError */
  static async check(path: string, owner: TargetOwner, isNew: boolean): Promise<void> {
    const folder = resolve(path)
    await guarded(folder, () => findTarget(folder, owner, isNew))
  }

  /**
   * Opens a target, or makes one of a missing or empty folder.
   * @param isNew false: the folder was a target before, so that an empty one is not mounted
   * @throws BackupError for any other folder
   */
  static async openOrMake(path: string, owner: TargetOwner, isNew: boolean): Promise<BackupTarget> {
    const folder = resolve(path)
    return guarded(folder, async () => {
      const isThere = await findTarget(folder, owner, isNew)
      if (!isThere) await makeTarget(folder, owner.installation)
      return new BackupTarget(folder)
    })
  }

  /** Lists the complete backups, the newest first. @throws BackupError */
  async list(): Promise<FoundBackup[]> {
    return guarded(this.folder, async () => {
      const names = (await namesIn(this.folder)).filter((name) => backupName.test(name))
      const found = await Promise.all(names.map((name) => this.#find(name)))
      return found.filter((each) => each !== null).sort((a, b) => (a.name < b.name ? 1 : -1))
    })
  }

  /** Takes the right to write. @throws BackupError when another process has it */
  async lock(): Promise<LockedTarget> {
    return guarded(this.folder, async () => {
      const lease = await TargetLease.take(this.folder)
      try {
        await this.#removeRemains()
        return new LockedTarget(this, lease)
      } catch (error) {
        await lease[Symbol.asyncDispose]()
        throw error
      }
    })
  }

  /** Removes what killed processes have left. */
  async #removeRemains(): Promise<void> {
    for (const name of await namesIn(this.folder)) {
      const isIncomplete = backupName.test(name) && (await this.#find(name)) === null
      const isRemains = [incomingPrefix, `${leaseName}.`].some((start) => name.startsWith(start))
      if (isIncomplete || isRemains)
        await rm(join(this.folder, name), { recursive: true, force: true })
    }
  }

  /** @returns null for an incomplete backup */
  async #find(name: string): Promise<FoundBackup | null> {
    const folder = join(this.folder, name)
    const complete = await textOf(join(folder, completeFile))
    if (complete === null) return null
    const createdAt = timeOf(name)
    const text = await textOf(join(folder, manifestFile))
    const manifest = text !== null && hashOf(text) === complete.trim() ? parseOrNull(text) : null
    const verified = await textOf(join(folder, verifiedFile))
    return { name, folder, createdAt, manifest, verifiedAt: verifiedAt(verified) }
  }
}

/** A target that this process writes into. */
export class LockedTarget implements AsyncDisposable {
  constructor(
    readonly target: BackupTarget,
    private readonly lease: TargetLease,
  ) {}

  /** Aborted when the right to write may be lost. */
  get lost(): AbortSignal {
    return this.lease.lost
  }

  /** Checks that this process still has the right to write. @throws BackupError */
  async requireHeld(): Promise<void> {
    await this.lease.requireHeld()
  }

  /** Begins a backup. @param now milliseconds since 1970 */
  async begin(now: number): Promise<IncomingBackup> {
    const { folder } = this.target
    const time = new Date(now).toISOString().replace(/[-:]|\.\d+/g, '')
    const random = Array.from(randomBytes(6), (byte) => letters[byte % letters.length]).join('')
    const backup = new IncomingBackup(folder, `${time}-${random}`)
    await mkdir(backup.folder, { mode: 0o700 })
    return backup
  }

  /** Removes a backup; it is incomplete from the first step. */
  async remove({ folder }: Pick<FoundBackup, 'folder'>): Promise<void> {
    await this.requireHeld()
    await rm(join(folder, completeFile), { force: true })
    await syncFolder(folder)
    await rm(folder, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.lease[Symbol.asyncDispose]()
  }
}

/** A backup in progress. Its folder gets its name when all of it is on the disk. */
export class IncomingBackup {
  readonly folder: string

  constructor(
    private readonly target: string,
    readonly name: string,
  ) {
    this.folder = join(target, `${incomingPrefix}${name}`)
  }

  path(name: string): string {
    return join(this.folder, name)
  }

  /** Makes the backup complete; all its parts are on the disk. */
  async complete(manifest: Manifest): Promise<void> {
    const text = manifestText(manifest)
    await writeFile(this.path(manifestFile), text, ownFile)
    await writeFile(this.path(completeFile), `${hashOf(text)}\n`, ownFile)
    await syncFolder(this.folder)
    await rename(this.folder, join(this.target, this.name))
    await syncFolder(this.target)
  }

  async discard(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true }).catch(() => {})
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function parseOrNull(text: string): Manifest | null {
  try {
    return parseManifest(text)
  } catch {
    return null
  }
}

function verifiedAt(text: string | null): number | null {
  try {
    const at = Date.parse((JSON.parse(text ?? '') as { at: string }).at)
    return Number.isNaN(at) ? null : at
  } catch {
    return null
  }
}

/** The time in the name of a backup, milliseconds since 1970. */
function timeOf(name: string): number {
  const [, date = '', hour = '', minute = '', second = ''] =
    /^(\d{8})T(\d\d)(\d\d)(\d\d)Z/.exec(name) ?? []
  const day = date.replace(/(\d{4})(\d\d)(\d\d)/, '$1-$2-$3')
  return Date.parse(`${day}T${hour}:${minute}:${second}Z`)
}

/** A file of a disk, of a start that was killed, or of an erasure while the disk was not mounted. */
export function isOfEmptyFolder(name: string): boolean {
  return ['lost+found', `${markFile}.new`, erasuresFile].includes(name)
}

/** @returns false when the target is to be made. @throws BackupError */
async function findTarget(
  folder: string,
  { installation, dataFolders }: TargetOwner,
  isNew: boolean,
): Promise<boolean> {
  await requireOutside(folder, dataFolders)
  const isEmpty = (await namesIn(folder)).every(isOfEmptyFolder)
  if (!isEmpty) await requireMark(folder, installation)
  else if (!isNew)
    throw new BackupError(
      `${folder} has backups no longer, as when its disk is not mounted; mount it, or give the backups another folder`,
    )
  return !isEmpty
}

async function makeTarget(folder: string, installation: string): Promise<void> {
  await makeFolder(folder)
  const path = join(folder, markFile)
  await writeFile(`${path}.new`, `${JSON.stringify({ format: 1, installation })}\n`, ownFile)
  await rename(`${path}.new`, path)
  await syncFolder(folder)
}

async function requireMark(folder: string, installation: string): Promise<void> {
  const text = await textOf(join(folder, markFile))
  if (text === null && (await namesIn(folder)).every(isOfEmptyFolder)) throw noBackupYet(folder)
  if (text === null)
    throw new BackupError(
      `${folder} has no ${markFile}, so it is no folder of backups; name the folder that has them, or for new ones an empty folder or one that does not exist`,
    )
  const mark = markOf(text)
  if (Number(mark.format) > 1)
    throw new BackupError(
      `${folder} has backups of the format ${mark.format}, and this build knows the format 1; use the newer build`,
    )
  if (mark.installation !== installation)
    throw new BackupError(`${folder} has the backups of another installation; name another folder`)
}

/** The failure of a folder that is missing or empty. */
export function noBackupYet(folder: string): BackupError {
  return new BackupError(
    `${folder} is missing or empty: if it had backups, mount its disk; otherwise hermod backup create makes the first one`,
  )
}

function markOf(text: string): { readonly format?: unknown; readonly installation?: unknown } {
  try {
    return JSON.parse(text) ?? {}
  } catch {
    return {}
  }
}

async function requireOutside(folder: string, dataFolders: readonly string[]): Promise<void> {
  const real = await realPathOf(folder)
  for (const data of dataFolders) {
    const inside = await realPathOf(data)
    if (real === inside || real.startsWith(inside + sep))
      throw new BackupError(
        `${folder} is in ${data}, which is what backups are to replace; name a folder on another disk`,
      )
  }
}

/** Resolves links also in the path of a folder that does not exist yet. */
async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (error) {
    const above = dirname(path)
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || above === path) throw error
    return join(await realPathOf(above), basename(path))
  }
}

/** Returns the names in a folder; none for a missing one. */
async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** @returns null when there is no such file */
async function textOf(path: string): Promise<string | null> {
  try {
    const bad = (problem: string) => new BackupError(`${path} ${problem}; remove it`)
    return (await readSmallFile(path, bad)).toString('utf8')
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  }
}

async function guarded<T>(folder: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw targetError(folder, error)
  }
}
