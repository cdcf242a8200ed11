import { Database } from '../db/database.js'
import { sqliteDialect } from '../db/dialect/sqlite.js'
import { type Digest, digestDatabase, type ReadingOptions } from '../transfer/digest.js'

/** Returns the digest of a database that no other process has open, and changes nothing in its file. */
export async function digestOfCopy(path: string, work: ReadingOptions = {}): Promise<Digest> {
  await using database = new Database(sqliteDialect(path))
  return await database.snapshot((db) => digestDatabase(db, work))
}
