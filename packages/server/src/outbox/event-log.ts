import type { Selectable } from 'kysely'
import type { Queryable, Tx } from '../db/database.js'
import type { EventsTable } from '../db/schema.js'
import { idRangeOf, tickAt } from '../lib/ids.js'
import type { Event } from './event-model.js'

/** What the column `payload` holds as JSON. */
export interface EventPayload {
  readonly actor: number
  readonly users: readonly number[]
  readonly group?: number
  readonly content: string
}

export interface EventStep {
  readonly events: readonly Pick<Selectable<EventsTable>, 'event_id' | 'kind' | 'payload'>[]
  readonly next: number | null
}

/** The log of committed facts; whoever tells others of them reads it in the order of the event IDs. */
export class EventStore {
  /** @param eventIds one for each event, ascending */
  async append(
    tx: Tx,
    events: readonly Event[],
    eventIds: readonly number[],
    createdAt: number,
  ): Promise<void> {
    const rows = events.map(({ appId, kind, actorId, userIds, groupId, content }, index) => ({
      event_id: eventIds[index] as number,
      app_id: appId,
      kind,
      payload: payloadOf({ actor: Number(actorId), users: userIds.map(Number), content }, groupId),
      created_at: createdAt,
    }))
    await tx.insertInto('events').values(rows).execute()
  }

  /**
   * The events of one application among the next `rows` of all, which bounds what a step costs.
   * @returns `next`: after which event the next step begins; null when there is none
   */
  async listStep(db: Queryable, appId: string, afterId: number, rows: number): Promise<EventStep> {
    const last = await db
      .selectFrom('events')
      .select('event_id')
      .where('event_id', '>', afterId)
      .orderBy('event_id')
      .offset(rows - 1)
      .limit(1)
      .executeTakeFirst()
    const following = db
      .selectFrom('events')
      .select(['event_id', 'kind', 'payload'])
      .where('event_id', '>', afterId)
      .where('app_id', '=', appId)
    const events = await (last
      ? following.where('event_id', '<=', last.event_id)
      : following
    ).execute()
    return { events, next: last?.event_id ?? null }
  }

  async setPayload(tx: Tx, eventId: number, payload: string): Promise<void> {
    await tx.updateTable('events').set({ payload }).where('event_id', '=', eventId).execute()
  }

  /**
   * By when their IDs were issued, for the key is the only index.
   * @returns how many were deleted, at most `limit`
   */
  async deleteOlder(tx: Tx, createdBefore: number, limit: number): Promise<number> {
    const { first } = idRangeOf(tickAt(createdBefore))
    const old = tx
      .selectFrom('events')
      .select('event_id')
      .where('event_id', '<', first)
      .orderBy('event_id')
      .limit(limit)
    const { numDeletedRows } = await tx
      .deleteFrom('events')
      .where('event_id', 'in', old)
      .executeTakeFirst()
    return Number(numDeletedRows)
  }
}

function payloadOf(payload: EventPayload, groupId: Event['groupId']): string {
  return JSON.stringify(groupId === undefined ? payload : { ...payload, group: Number(groupId) })
}
