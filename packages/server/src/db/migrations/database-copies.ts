/**
 * Copies of the embedded database from before a change of its schema: `hermod.db.before-<version>`
 * beside `hermod.db`, with the version that changed it. The name is stable, since older builds look
 * for it. A copy is complete or absent.
 */
import { constants } from 'node:fs'
import { copyFile, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { syncFolder } from '../../lib/system/sync-folder.js'

/** The time for which a copy is kept. */
export const keptDays = 7

const infix = '.before-'
const unfinished = '.unfinished'
const noSpace = ['ENOSPC', 'EDQUOT']

/** The disk has too little room for a copy; nothing was changed. */
export class CopySpaceError extends Error {
  override readonly name = 'CopySpaceError'

  constructor(path: string, bytes: number, free: number) {
    super(
      `the database ${path} is copied before its schema changes, which needs ${bytes} bytes of free space beside it, and ${free} are free; nothing was changed; make room, or change it without a copy: hermod migrate --without-copy`,
    )
  }
}

/** Returns the place of the copy from before the version. */
export function copyPath(databasePath: string, version: string): string {
  return `${databasePath}${infix}${version}`
}

/**
 * Copies the file of a database that no process has open. On disks that share blocks between files
 * it takes no time and no space.
 *
 * An earlier copy of the same upgrade is removed first: the upgrade did not finish, so the database
 * has all of it.
 * @param version the version that is going to change the schema
 * @returns the path of the copy
 * @throws CopySpaceError
 */
export async function copyDatabase(path: string, version: string): Promise<string> {
  const copy = copyPath(path, version)
  const part = `${copy}${unfinished}`
  await removeCopies(path, (name) => name === basename(copy) || name.endsWith(unfinished))
  try {
    await copyContent(path, part)
    await syncFile(part)
    await rename(part, copy)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
  await syncFolder(dirname(path))
  return copy
}

/** Removes the copies from before other upgrades than that to the version, which has finished. */
export async function removeOtherCopies(path: string, version: string): Promise<void> {
  const kept = basename(copyPath(path, version))
  await removeCopies(path, (name) => name !== kept)
}

/** Removes the copies that were made before an instant, in milliseconds since 1970. */
export async function removeCopiesBefore(path: string, before: number): Promise<void> {
  await removeCopies(path, (_, madeAt) => madeAt < before)
}

/** Lists the paths of the copies of a database. */
export async function listCopies(path: string): Promise<string[]> {
  const folder = dirname(path)
  const names = await readdir(folder)
  return names
    .filter((name) => name.startsWith(`${basename(path)}${infix}`))
    .map((name) => join(folder, name))
}

async function removeCopies(
  path: string,
  isRemoved: (name: string, madeAt: number) => boolean,
): Promise<void> {
  for (const file of await listCopies(path))
    if (isRemoved(basename(file), (await stat(file)).mtimeMs)) await rm(file, { force: true })
}

async function copyContent(from: string, to: string): Promise<void> {
  const isShared = await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE).then(
    () => true,
    () => false,
  )
  if (isShared) return
  const { size } = await stat(from)
  const spaceError = async () => {
    const { bavail, bsize } = await statfs(dirname(to))
    return bavail * bsize < size ? new CopySpaceError(from, size, bavail * bsize) : null
  }
  const tooLarge = await spaceError()
  if (tooLarge !== null) throw tooLarge
  await copyFile(from, to).catch(async (error: NodeJS.ErrnoException) => {
    await rm(to, { force: true })
    throw noSpace.includes(error.code ?? '') ? ((await spaceError()) ?? error) : error
  })
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r+')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
