import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { IdGenerator } from '../../lib/ids.js'
import type { Event } from './event-model.js'
import type { EventPayload, EventStore } from './event-store.js'

export interface EventServiceOptions {
  readonly database: Database
  readonly store: EventStore
  readonly ids: IdGenerator
  readonly clock: Clock
}

const keptMs = 3 * 24 * 3_600_000
const erasedRows = 1_000
const purgeRows = 1_000
const purgeSteps = 20

/** Records what happened in the transaction in which it happens. */
export class EventService {
  constructor(private readonly options: EventServiceOptions) {}

  async append(tx: Tx, ...events: readonly Event[]): Promise<void> {
    const { store, ids, clock } = this.options
    await store.append(tx, events, ids.takeReserved(events.length), clock.now())
  }

  /** Takes the texts out of what happened between the user and others, some events at a time, so that no message waits for it. */
  async eraseTexts(appId: string, userId: Int64): Promise<void> {
    const { database, store } = this.options
    const isAbout = ({ actor, users }: EventPayload) => actor === userId || users.includes(userId as number)
    for (let after = 0; ; ) {
      const events = await database.read((db) => store.list(db, after, erasedRows))
      const payloads = events.filter((event) => event.app_id === appId).map((event) => ({ event, payload: parsePayload(event.payload) }))
      const wordy = payloads.filter(({ payload }) => payload.content !== '' && isAbout(payload))
      if (wordy.length > 0)
        await database.transaction(async (tx) => {
          for (const { event, payload } of wordy) await store.setPayload(tx, event.event_id, JSON.stringify({ ...payload, content: '' }))
        })
      const last = events.at(-1)
      if (!last || events.length < erasedRows) return
      after = last.event_id
    }
  }

  /** Deletes events that nobody can resume from any more; some at a time, so that no message waits for it. */
  async purge(): Promise<void> {
    const { database, store, clock } = this.options
    for (let step = 0; step < purgeSteps; step++) {
      const deleted = await database.transaction((tx) => store.deleteOlder(tx, clock.now() - keptMs, purgeRows))
      if (deleted < purgeRows) return
    }
  }
}

function parsePayload(payload: string): EventPayload {
  return JSON.parse(payload) as EventPayload
}
