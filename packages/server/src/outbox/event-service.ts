import type { Database, Tx } from '../db/database.js'
import { chunksOf } from '../lib/chunks.js'
import type { Clock } from '../lib/clock.js'
import type { IdGenerator } from '../lib/ids.js'
import type { EventStore } from './event-log.js'
import type { Event } from './event-model.js'

export interface EventServiceOptions {
  readonly database: Database
  readonly store: EventStore
  readonly ids: IdGenerator
  readonly clock: Clock
}

const keptMs = 3 * 24 * 3_600_000
const eventsPerStatement = 1_000
const purgeRows = 1_000
const purgeSteps = 20

/** Records what happened in the transaction in which it happens. */
export class EventService {
  constructor(private readonly options: EventServiceOptions) {}

  async append(tx: Tx, ...events: readonly Event[]): Promise<void> {
    await this.appendAll(tx, events)
  }

  /** As {@link append}, for any number. */
  async appendAll(tx: Tx, events: readonly Event[]): Promise<void> {
    const { store, ids, clock } = this.options
    for (const chunk of chunksOf(events, eventsPerStatement))
      await store.append(tx, chunk, ids.takeReserved(chunk.length), clock.now())
  }

  /** Deletes events that nobody can resume from any more; some at a time, so that no message waits for it. */
  async purge(): Promise<void> {
    const { database, store, clock } = this.options
    for (let step = 0; step < purgeSteps; step++) {
      const deleted = await database.transaction((tx) =>
        store.deleteOlder(tx, clock.now() - keptMs, purgeRows),
      )
      if (deleted < purgeRows) return
    }
  }
}
