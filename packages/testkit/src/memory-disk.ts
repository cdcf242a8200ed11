import { readdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { isRunning } from './processes/proc.js'

const disk = '/dev/shm'
const neededBytes = 4 * 1024 ** 3
const folderName = /^hermod-(\d+)-/

/** The memory disk for test data that need not survive anything; undefined: there is none with 4 GiB free. */
export function memoryDisk(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(disk)
    return bavail * bsize >= neededBytes ? disk : undefined
  } catch {
    return undefined
  }
}

/** Removes the folders that test processes which have ended left on the memory disk. */
export function emptyMemoryDisk(): void {
  for (const name of memoryDisk() === undefined ? [] : readdirSync(disk)) {
    const pid = Number(folderName.exec(name)?.[1])
    if (pid > 0 && !isRunning(pid)) rmSync(join(disk, name), { recursive: true, force: true })
  }
}
