import { type Compaction, compactSqlite } from '../../db/dialect/sqlite-compact.js'
import { lockFolder } from '../../lib/system/folder-lock.js'
import { type DatabaseOptions, databasePath } from './open-database.js'

/**
 * Gives the unused space of the embedded database back to the disk, with no server on the data folder.
 * @returns null when the database is PostgreSQL
 * @throws FolderLockedError, CompactionError
 */
export function compactDatabase({ config }: Pick<DatabaseOptions, 'config'>): Compaction | null {
  const { storage, dataDir } = config
  if (storage.kind !== 'sqlite') return null
  const lock = lockFolder(dataDir)
  try {
    return compactSqlite(databasePath(storage.dataDir))
  } finally {
    lock.release()
  }
}
