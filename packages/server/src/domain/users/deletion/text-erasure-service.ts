import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { jobKind } from '../../../jobs/job-model.js'
import type { JobQueue } from '../../../jobs/job-queue.js'
import type { EventPayload, EventStep, EventStore } from '../../../outbox/event-log.js'
import type { UserKey } from '../user-model.js'

export interface TextErasureServiceOptions {
  readonly database: Database
  readonly events: EventStore
  readonly jobs: JobQueue
}

/** Done by {@link TextErasureService.erase}. */
export const textErasure = jobKind<{ readonly userId: Int64 }>('text_erasure')

/** So many events, of all applications, are one step, so that no message waits for it. */
const stepRows = 1_000

/** Takes the texts out of what happened between deleted users and others (decision D5), after the deletion has been answered. */
export class TextErasureService {
  constructor(private readonly options: TextErasureServiceOptions) {}

  /** In the transaction of the deletion. */
  async order(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await this.options.jobs.enqueue(tx, textErasure, { appId, payload: { userId } })
  }

  /** For any number of users at the cost of one. What a stop interrupts can be done over. @throws when the signal is aborted */
  async erase(appId: string, users: readonly Int64[], signal: AbortSignal): Promise<void> {
    const userIds = new Set(users.map(Number))
    const { database, events } = this.options
    for (let after: number | null = 0; after !== null; ) {
      signal.throwIfAborted()
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
