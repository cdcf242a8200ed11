import type { Database } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { Logger } from '../../observability/log.js'
import type { Stores } from '../stores.js'

interface EndLeasesOptions {
  readonly database: Database
  readonly stores: Pick<Stores, 'jobs' | 'leases'>
  readonly log: Logger
  readonly clock: Clock
}

/**
 * Ends the leases of a killed process, so that its work continues at once. A start calls it before
 * it takes a lease itself.
 *
 * One process uses the embedded database, so every lease in it is of an earlier process. With
 * PostgreSQL other nodes may hold leases, and those of a killed node expire.
 */
export async function endLeases({ database, stores, log, clock }: EndLeasesOptions): Promise<void> {
  if (database.dialect.name !== 'sqlite') return
  try {
    await database.transaction(async (tx) => {
      await stores.leases.endAll(tx)
      await stores.jobs.endLeases(tx, clock.now())
    })
  } catch (error) {
    // A full disk, for example, must not prevent the start.
    log.warn({ err: error }, 'leases of the last process remain until they expire')
  }
}
