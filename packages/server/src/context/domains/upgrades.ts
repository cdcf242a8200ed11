import { keptDays, removeCopiesBefore } from '../../db/migrations/database-copies.js'
import type { ServerConfig } from '../../config/config.js'
import { dayMs, hourMs } from '../../lib/clock.js'
import { databasePath } from '../database/open-database.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

/** Removes copies of the embedded database from before upgrades when their time is over. */
export function createUpgrades(
  { clock }: Infrastructure,
  { config: { storage } }: { readonly config: ServerConfig },
) {
  if (storage.kind === 'postgres') return { services: {}, maintenanceTasks: [] } satisfies Domain
  const path = databasePath(storage.dataDir)
  const copies = {
    name: 'database_copies',
    intervalMs: hourMs,
    run: () => removeCopiesBefore(path, clock.now() - keptDays * dayMs),
  }
  return { services: {}, maintenanceTasks: [copies] } satisfies Domain
}
