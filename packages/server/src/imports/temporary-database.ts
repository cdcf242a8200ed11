import { DatabaseSync, type DatabaseSyncInstance } from '@photostructure/sqlite'

const cacheKilobytes = 32_768

/**
 * Opens a database for one run. Its files have no names on systems that allow that, so a killed run
 * leaves nothing on disk.
 * @param folder a folder for them
 */
export function openTemporaryDatabase(folder: string): DatabaseSyncInstance {
  // SQLite reads it once in a process, and writes the pieces of large sorts there too.
  process.env.SQLITE_TMPDIR = folder
  // A defensive connection ignores `journal_mode = off`, and its journal takes room on the disk.
  const database = new DatabaseSync('', { defensive: false })
  for (const pragma of ['journal_mode = off', 'synchronous = off', 'temp_store = file'])
    database.exec(`pragma ${pragma}`)
  database.exec(`pragma cache_size = -${cacheKilobytes}`)
  return database
}
