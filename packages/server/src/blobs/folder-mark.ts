import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '../lib/system/sync-folder.js'
import { isMissing } from './disk.js'

/** The file in a folder of files that tells which folder it is; no name of a key begins with a dot. */
const file = '.hermod-files'

/** Returns the path of the mark of a folder. */
export function markPath(folder: string): string {
  return join(folder, file)
}

/** @returns null for a folder without a mark. @throws the error of the file system */
export async function readMark(folder: string): Promise<string | null> {
  try {
    return (await readFile(markPath(folder), 'utf8')).trim()
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

/** Writes the mark durably, all of it or nothing. @throws the error of the file system */
export async function writeMark(folder: string, mark: string): Promise<void> {
  const path = markPath(folder)
  await writeFile(`${path}.new`, `${mark}\n`, { flush: true })
  await rename(`${path}.new`, path)
  await syncFolder(folder)
}
