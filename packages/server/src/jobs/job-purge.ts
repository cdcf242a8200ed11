import type { Database } from '../db/database.js'
import { type Clock, dayMs } from '../lib/clock.js'
import type { JobStore } from './job-store.js'

/** The time for which the outcome of a job is kept. */
const keptMs = 3 * dayMs
const purgeRows = 1_000

/**
 * The maintenance task that deletes jobs which ended long ago. It works in small steps, so that no
 * message waits for it.
 */
export function jobPurge({
  database,
  store,
  clock,
}: {
  readonly database: Database
  readonly store: JobStore
  readonly clock: Clock
}): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    const before = clock.now() - keptMs
    let deleted = purgeRows
    while (deleted === purgeRows && !signal.aborted)
      deleted = await database.transaction((tx) => store.deleteFinished(tx, before, purgeRows))
  }
}
