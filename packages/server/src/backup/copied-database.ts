import { DatabaseSync } from '@photostructure/sqlite'
import { BackupError } from './backup-error.js'

/** SQLite stores the statements of a schema with these beginnings. */
const foreignEntry = `select type, name from sqlite_schema where not (sql is null
  or sql like 'create table %' or sql like 'create index %' or sql like 'create unique index %')`

/**
 * Opens a copied database, which may come from anyone, so that nothing in it runs: the service has
 * tables and indexes alone, and functions in these get no trust.
 * @throws BackupError that names a trigger, a view or a virtual table
 */
export function withCopy<T>(
  path: string,
  work: (database: InstanceType<typeof DatabaseSync>) => T,
  { readOnly = true } = {},
): T {
  const database = new DatabaseSync(path, { readOnly })
  try {
    database.exec('pragma trusted_schema = off')
    const foreign = database.prepare(foreignEntry).get() as Record<string, string> | undefined
    if (foreign)
      throw new BackupError(
        `its database has the ${foreign.type} ${foreign.name}, and the service makes only tables and indexes; remove it from the database of the service`,
      )
    return work(database)
  } finally {
    database.close()
  }
}
