import { listMigrations, migrate } from '../../db/migrations/migrate.js'
import { lockFolder } from '../../lib/concurrency/folder-lock.js'
import { type ContextOptions, openDatabase } from '../context.js'

interface MigrationReport {
  readonly name: string
  readonly state: 'applied' | 'appliedNow' | 'pending'
}

/**
 * Brings the schema up to date, or only reports; every known migration in order. PostgreSQL has a
 * separate lock for this, so that no data folder is needed.
 */
export async function migrateDatabase(
  options: ContextOptions,
  { statusOnly }: { readonly statusOnly: boolean },
): Promise<MigrationReport[]> {
  const { storage } = options.config
  const lock = storage.kind === 'sqlite' ? lockFolder(storage.dataDir) : null
  try {
    await using database = await openDatabase(options)
    const applied = new Set(statusOnly ? [] : await migrate(database))
    const known = await listMigrations(database)
    return known.map(({ name, isApplied }) => ({
      name,
      state: applied.has(name) ? 'appliedNow' : isApplied ? 'applied' : 'pending',
    }))
  } finally {
    lock?.release()
  }
}
