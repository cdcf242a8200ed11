import { existsSync, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from '@photostructure/sqlite'

/** The size of the database file in bytes. */
export interface Compaction {
  readonly before: number
  readonly after: number
}

/** Why a database could not be made smaller; it is as it was. */
export class CompactionError extends Error {
  override readonly name = 'CompactionError'
}

/** Data is written twice before the old file frees its space: to a new file next to it, and into the log. */
const copies = 2

/**
 * Rewrites the file of an embedded database without its unused space. No other process may have it
 * open. Killed in between it leaves the database as it was.
 * @throws CompactionError when there is no such file, or too little room on its disk
 */
export function compactSqlite(path: string): Compaction {
  if (!existsSync(path)) throw new CompactionError(`there is no database at ${path}`)
  const folder = dirname(path)
  // Where the copy is made; the machine's folder for temporary files may be small.
  process.env.SQLITE_TMPDIR = folder
  const database = new DatabaseSync(path)
  try {
    for (const pragma of ['journal_mode = wal', 'synchronous = full', 'wal_autocheckpoint = 0'])
      database.exec(`pragma ${pragma}`)
    database.exec('pragma wal_checkpoint(truncate)')
    const before = statSync(path).size
    requireDiskSpace(folder, copies * usedBytes(database))
    database.exec('vacuum')
    database.exec('pragma wal_checkpoint(truncate)')
    return { before, after: statSync(path).size }
  } finally {
    database.close()
  }
}

function usedBytes(database: InstanceType<typeof DatabaseSync>): number {
  const read = (pragma: string) =>
    Number(Object.values(database.prepare(`pragma ${pragma}`).get() ?? {})[0])
  return (read('page_count') - read('freelist_count')) * read('page_size')
}

function requireDiskSpace(folder: string, needed: number): void {
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  if (free < needed)
    throw new CompactionError(
      `${folder} needs ${needed} bytes of free space for a while, and has ${free}; nothing was changed`,
    )
}
