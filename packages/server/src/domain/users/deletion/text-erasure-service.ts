import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { EventPayload, EventStep, EventStore } from '../../../outbox/event-log.js'
import type { PendingErasureStore } from './pending-erasure-store.js'

export interface TextErasureServiceOptions {
  readonly database: Database
  readonly store: PendingErasureStore
  readonly events: EventStore
  readonly clock: Clock
  /** Has {@link TextErasureService.run} called soon. */
  wake(): void
}

const usersAtOnce = 500
/** So many events, of all applications, are one step, so that no message waits for it. */
const stepRows = 1_000

/** Takes the texts out of what happened between deleted users and others (decision D5), after the deletion has been answered. */
export class TextErasureService {
  constructor(private readonly options: TextErasureServiceOptions) {}

  /** In the transaction of the deletion; {@link wake} once it is committed. */
  async order(tx: Tx, appId: string, userId: Int64): Promise<void> {
    const { store, clock } = this.options
    await store.insert(tx, appId, userId, clock.now())
  }

  wake(): void {
    this.options.wake()
  }

  /** Does what was ordered; what a stop interrupts is done over by the next run. */
  async run(signal: AbortSignal): Promise<void> {
    const { database, store } = this.options
    for (;;) {
      const pending = await database.read((db) => store.findSome(db, usersAtOnce))
      if (!pending) return
      await this.#erase(pending.appId, new Set(pending.userIds.map(Number)), signal)
      if (signal.aborted) return
      await database.transaction((tx) => store.delete(tx, pending))
    }
  }

  async #erase(appId: string, userIds: ReadonlySet<number>, signal: AbortSignal): Promise<void> {
    const { database, events } = this.options
    for (let after: number | null = 0; after !== null && !signal.aborted; ) {
      const from: number = after
      const step: EventStep = await database.read((db) =>
        events.listStep(db, appId, from, stepRows),
      )
      const wordy = step.events
        .map(({ event_id, kind, payload }) => ({
          eventId: event_id,
          kind,
          payload: JSON.parse(payload) as EventPayload,
        }))
        .filter(({ kind, payload }) => isPersonal(kind, payload, userIds))
      if (wordy.length > 0)
        await database.transaction(async (tx) => {
          for (const { eventId, payload } of wordy)
            await events.setPayload(tx, eventId, JSON.stringify({ ...payload, content: '' }))
        })
      after = step.next
    }
  }
}

/** Notices of groups that carry words from one person to others; all other texts of groups belong to the groups, as messages do. */
const personalNotices: ReadonlySet<string> = new Set(['group.applied', 'group.invited'])

function isPersonal(
  kind: string,
  { actor, users, content }: EventPayload,
  userIds: ReadonlySet<number>,
): boolean {
  if (content === '') return false
  if (!kind.startsWith('group.')) return [actor, ...users].some((userId) => userIds.has(userId))
  const isAboutThem = users.length > 0 && users.every((userId) => userIds.has(userId))
  // A change that names a user is of the name in the group.
  if (kind === 'group.info_updated') return isAboutThem
  return personalNotices.has(kind) && (isAboutThem || userIds.has(actor))
}
