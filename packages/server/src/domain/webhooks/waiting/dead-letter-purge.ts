import type { Database } from '../../../db/database.js'
import { type Clock, dayMs } from '../../../lib/clock.js'
import type { EndpointStore } from '../endpoints/endpoint-store.js'
import type { WaitingEventStore } from './waiting-event-store.js'

/** Dead letters of older events are deleted. */
export const deadLetterMs = 30 * dayMs
/** Rows of one deletion, few enough that no message waits for it. */
const rowsPerStep = 1_000

/** Deletes old dead letters, since a receiver that refuses some events is never disabled. */
export class DeadLetterPurge {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly endpoints: Pick<EndpointStore, 'listAll'>
      readonly waiting: Pick<WaitingEventStore, 'deleteDead'>
      readonly clock: Clock
    },
  ) {}

  async run(signal: AbortSignal): Promise<void> {
    const { database, endpoints, waiting, clock } = this.options
    const choice = { before: clock.now() - deadLetterMs, limit: rowsPerStep }
    for (const endpoint of await database.read((db) => endpoints.listAll(db))) {
      let deleted = rowsPerStep
      while (deleted === rowsPerStep && !signal.aborted)
        deleted = await database.transaction((tx) => waiting.deleteDead(tx, endpoint, choice))
    }
  }
}
