/**
 * A file in the data folder that only takes up space. On a full disk, a start frees it to make room
 * for the files that reading needs (the index of the write-ahead log, the pid file), and then takes
 * back the rest.
 */
import { randomBytes } from 'node:crypto'
import { closeSync, fstatSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const reserveBytes = 512 * 1024
const file = 'hermod.reserve'

/** Frees the reserve when its disk has less room than that. @returns whether it was freed */
export function openReserve(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize >= reserveBytes) return false
  rmSync(join(folder, file), { force: true })
  return true
}

/** Fills the reserve to its size, or as far as the disk allows. */
export function fillReserve(folder: string): void {
  const descriptor = openSync(join(folder, file), 'a')
  try {
    // Random bytes, since a compressing file system would not reserve zeros.
    const missing = randomBytes(Math.max(0, reserveBytes - fstatSync(descriptor).size))
    for (let at = 0; at < missing.length; ) at += writeSync(descriptor, missing, at)
  } catch (error) {
    if (!isFull(error)) throw error
  } finally {
    closeSync(descriptor)
  }
}

function isFull(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '')
}
