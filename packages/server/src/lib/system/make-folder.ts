import { mkdirSync, statSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncFolder } from './sync-folder.js'

const ownFolder = { mode: 0o700 }

/**
 * Makes a folder and those above it (mode 700), each durable. The recursive way of Node never ends
 * where there can be no folder, as in /proc.
 *
 * @throws the error of the file system
 */
export async function makeFolder(folder: string): Promise<void> {
  if (isFolder(folder)) return
  const above = dirname(folder)
  await makeFolder(above)
  try {
    await mkdir(folder, ownFolder)
  } catch (error) {
    if (!isMade(error, above)) throw error
  }
  await syncFolder(above)
}

/** Makes folders as {@link makeFolder} does, without waiting until they are on the disk. */
export function makeFolderSync(folder: string): void {
  if (isFolder(folder)) return
  const above = dirname(folder)
  makeFolderSync(above)
  try {
    mkdirSync(folder, ownFolder)
  } catch (error) {
    if (!isMade(error, above)) throw error
  }
}

/** @throws Error for a file */
function isFolder(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats && !stats.isDirectory()) throw refusal(`${path} is a file`, 'ENOTDIR')
  return stats !== undefined
}

/** Tests whether another process was first. @throws Error for a folder in which there can be none */
function isMade(error: unknown, above: string): boolean {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') throw refusal(`no folder can be made in ${above}`, code)
  return code === 'EEXIST'
}

function refusal(text: string, code: string): Error {
  return Object.assign(new Error(text), { code })
}
