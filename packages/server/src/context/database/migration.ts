import { listMigrations } from '../../db/migrations/migrate.js'
import { lockFolder } from '../../lib/system/folder-lock.js'
import {
  type CurrentDatabase,
  type DatabaseOptions,
  openCurrentDatabase,
  openDatabase,
} from './open-database.js'

interface MigrationReport {
  /** Every known migration, in order. */
  readonly migrations: readonly {
    readonly name: string
    readonly state: 'applied' | 'appliedNow' | 'pending'
  }[]
  /** The copy of the embedded database from before the change; null where none was made. */
  readonly copy: string | null
}

/**
 * Brings the schema up to date, or only reports. PostgreSQL has a separate lock for this, so that no
 * data folder is needed.
 */
export async function migrateDatabase(
  options: DatabaseOptions,
  { statusOnly }: { readonly statusOnly: boolean },
): Promise<MigrationReport> {
  const { storage } = options.config
  const lock = storage.kind === 'sqlite' ? lockFolder(storage.dataDir) : null
  try {
    const opened: CurrentDatabase = statusOnly
      ? { database: await openDatabase(options), applied: [], copy: null }
      : await openCurrentDatabase(options, 'migrate')
    await using database = opened.database
    const { applied, copy } = opened
    const known = await listMigrations(database, options.release)
    const migrations = known.map(({ name, isApplied }) => {
      const state = applied.includes(name) ? 'appliedNow' : isApplied ? 'applied' : 'pending'
      return { name, state } as const
    })
    return { migrations, copy }
  } finally {
    lock?.release()
  }
}
