import type { Database } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { Logger } from '../../observability/log.js'
import type { Stores } from '../stores.js'

interface EndLeasesOptions {
  readonly database: Database
  readonly stores: Pick<Stores, 'jobs'>
  readonly log: Logger
  readonly clock: Clock
}

/**
 * Ends the leases that a killed process had on jobs, so that they continue at once. A start calls it
 * before it takes jobs itself.
 *
 * One process uses the embedded database, so every lease in it is of an earlier process. With
 * PostgreSQL other nodes may hold leases, and those of a killed node expire.
 */
export async function endJobLeases({
  database,
  stores,
  log,
  clock,
}: EndLeasesOptions): Promise<void> {
  if (database.dialect.name !== 'sqlite') return
  try {
    await database.transaction((tx) => stores.jobs.endLeases(tx, clock.now()))
  } catch (error) {
    // A full disk, for example, must not prevent the start.
    log.warn({ err: error }, 'jobs of the last process wait until its leases expire')
  }
}
