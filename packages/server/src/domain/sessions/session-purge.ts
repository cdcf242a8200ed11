import type { Database } from '../../db/database.js'
import { closedKeptMs, closeSessionsOf } from './session-feed.js'
import type { SessionStore } from './session-store.js'

const rowsAtOnce = 1_000

/** The maintenance task that deletes closed sessions, and closes those whose node is gone. */
export function sessionPurge({
  database,
  store,
}: {
  readonly database: Database
  readonly store: SessionStore
}): (signal: AbortSignal) => Promise<void> {
  return async (signal) => {
    for (const node of await database.read((db) => store.listEnded(db)))
      await closeSessionsOf({ database, store, node })
    let deleted = rowsAtOnce
    while (deleted === rowsAtOnce && !signal.aborted)
      deleted = await database.statement((tx) => store.deleteClosed(tx, closedKeptMs, rowsAtOnce))
  }
}
