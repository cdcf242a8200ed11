import { randomBytes } from 'node:crypto'
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const file = 'node.id'

/** The content of the file: the ID, and the folder for which it was made. */
interface Noted {
  readonly id: string
  readonly inode: number
  readonly device: number
}

/**
 * Returns the ID of the node whose data folder this is, and makes one for a new folder. A folder
 * that is a copy of another one takes an ID of its own. The caller holds the lock of the folder.
 */
export function nodeIdOf(folder: string): string {
  const noted = readNoted(folder)
  const { ino, dev } = statSync(folder)
  if (noted?.inode === ino && noted.device === dev) return noted.id
  return renewNodeId(folder)
}

/** Gives the folder a new ID. */
export function renewNodeId(folder: string): string {
  const { ino: inode, dev: device } = statSync(folder)
  const noted: Noted = { id: randomBytes(6).toString('hex'), inode, device }
  const path = join(folder, file)
  writeFileSync(`${path}.new`, `${JSON.stringify(noted)}\n`)
  renameSync(`${path}.new`, path)
  return noted.id
}

function readNoted(folder: string): Noted | null {
  try {
    return JSON.parse(readFileSync(join(folder, file), 'utf8')) as Noted
  } catch {
    // Absent, or damaged: the folder gets a new ID.
    return null
  }
}
