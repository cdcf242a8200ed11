import type { Int64 } from '@hermod/protocol'
import type { ActorEventKind, Event, EventKind, EventPayloads } from '@hermod/protocol/events'
import type { Database, Tx } from '../db/database.js'
import type { LastStatement } from '../db/procedure.js'
import type { Clock } from '../lib/clock.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import { appendToOutbox, type NewRow } from './outbox-statements.js'
import type { OutboxStore } from './outbox-store.js'
import { toPayloadText } from './rows/recorded-event.js'
import { type AppendedEvent, userChangesOf } from './user-changes.js'

interface OutboxOptions {
  readonly database: Database
  readonly store: OutboxStore
  readonly clock: Clock
  /** Called after the commit of a transaction that appended to the outbox of this app. */
  appended(appId: string): void
}

/** The positions of one step of {@link Outbox.rewrite}: few, so that no message waits for it. */
const positionsPerStep = 1_000

/**
 * Records events in the transaction that causes them. Positions of an app are dense and in the
 * order of the commits: the last statement of a transaction takes them, under a lock that lasts
 * until its commit.
 */
export class Outbox {
  readonly #collected = new WeakMap<Tx, AppendedEvent[]>()

  constructor(private readonly options: OutboxOptions) {}

  /** Appends events in order, with the changes of users; they are written with the commit. */
  append(tx: Tx, ...events: readonly AppendedEvent[]): void {
    const collected = this.#collected.get(tx)
    if (collected) for (const event of events) collected.push(event)
    else if (events.length > 0) {
      const first = [...events]
      this.#collected.set(tx, first)
      tx.beforeCommit(async () => [this.#appended(tx, first)])
    }
  }

  /**
   * Keeps other transactions from appending events of the app. The transaction must lock nothing afterwards.
   * @returns the greatest ID of a sent message; 0 = none
   */
  lock(tx: Tx, appId: string): Promise<number> {
    return this.options.store.lock(tx, appId)
  }

  /** Locks as {@link lock} does. @returns the position of the next event */
  async nextPosition(tx: Tx, appId: string): Promise<number> {
    const { store } = this.options
    await store.lock(tx, appId)
    return (await store.head(tx, appId)) + 1
  }

  /**
   * Appends a broadcast, as text for {@link MessageReader}, in a transaction that appends nothing
   * else. Messages that are appended later must have greater IDs.
   */
  appendBroadcast(tx: Tx, appId: string, messageId: number, payload: string): void {
    const { store, clock, appended } = this.options
    tx.beforeCommit(async () => {
      const position = await store.advance(tx, appId, 1, messageId)
      const row = { position, kind: 'message.stored', payload, createdAt: clock.now() } as const
      await store.insert(tx, appId, [row])
      tx.afterCommit(() => appended(appId))
      return []
    })
  }

  /**
   * The ID of the last broadcast in these apps. An append with messages up to this ID is refused; 0
   * = none.
   */
  lastBroadcastId(appIds: readonly string[]): MaybePromise<number> {
    const { database, store } = this.options
    return database.read((db) => store.lastBroadcastId(db, appIds))
  }

  /** The greatest ID of a message or broadcast in an app; 0 = none. */
  lastMessageId(appId: string): MaybePromise<number> {
    const { database, store } = this.options
    return database.read((db) => store.lastMessageId(db, appId))
  }

  /**
   * Changes the payloads of the kept events of some kinds.
   * @param change returns the new payload, or null to leave the event as it is
   * @param signal ends it early
   */
  async rewrite(
    appId: string,
    kinds: readonly EventKind[],
    change: (event: Event) => EventPayloads[ActorEventKind] | null,
    signal: AbortSignal,
  ): Promise<void> {
    const { database, store } = this.options
    const head = await database.read((db) => store.head(db, appId))
    const first = await database.read((db) => store.firstKept(db, appId))
    if (first === null) return
    for (let after = first - 1; after < head && !signal.aborted; after += positionsPerStep) {
      const range = { after, upTo: after + positionsPerStep }
      const rows = await database.read((db) => store.listOfKinds(db, appId, range, kinds))
      const changes = rows.flatMap(({ position, kind, payload }) => {
        const changed = change({ appId, kind, payload: JSON.parse(payload) } as Event)
        return changed === null ? [] : [{ position, payload: JSON.stringify(changed) }]
      })
      if (changes.length > 0)
        await database.transaction(async (tx) => {
          for (const { position, payload } of changes)
            await store.setPayload(tx, appId, position, payload)
        })
    }
  }

  /**
   * Erases the changes of a user, in steps.
   * @param signal ends it early
   */
  async eraseUser(
    user: { readonly appId: string; readonly userId: Int64 },
    signal: AbortSignal,
  ): Promise<void> {
    const { database, store } = this.options
    while (!signal.aborted) {
      const page = await database.read((db) => store.listUserChanges(db, user, 0, positionsPerStep))
      const last = page.at(-1)
      if (!last) return
      await database.transaction(async (tx) => {
        // As appends do: the head first, then the changes.
        await store.lock(tx, user.appId)
        await store.deleteUserChanges(tx, user, last.position)
      })
    }
  }

  #appended(tx: Tx, events: readonly AppendedEvent[]): LastStatement {
    const { clock, appended } = this.options
    const rows = events.map(
      (event): NewRow => ({
        appId: event.appId,
        kind: event.kind,
        payload: toPayloadText(event),
        userChanges: userChangesOf(event),
      }),
    )
    for (const appId of new Set(events.map((event) => event.appId)))
      tx.afterCommit(() => appended(appId))
    return appendToOutbox(rows, clock.now())
  }
}
