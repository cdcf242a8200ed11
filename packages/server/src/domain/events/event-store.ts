import type { Selectable } from 'kysely'
import type { Executor, Tx } from '../../db/database.js'
import type { EventsTable } from '../../db/schema.js'
import type { Event } from './event-model.js'

/** What the column `payload` holds as JSON. */
export interface EventPayload {
  readonly actor: number
  readonly users: readonly number[]
  readonly content: string
}

/** The log of committed facts; whoever tells others of them reads it in the order of the event IDs. */
export class EventStore {
  /** @param eventIds one for each event, ascending */
  async append(tx: Tx, events: readonly Event[], eventIds: readonly number[], createdAt: number): Promise<void> {
    if (events.length === 0) return
    const rows = events.map(({ appId, kind, actorId, userIds, content }, index) => ({
      event_id: eventIds[index] as number,
      app_id: appId,
      kind,
      payload: JSON.stringify({ actor: Number(actorId), users: userIds.map(Number), content } satisfies EventPayload),
      created_at: createdAt,
    }))
    await tx.insertInto('events').values(rows).execute()
  }

  /** Events of all applications after this one, by ID. */
  async list(db: Executor, afterId: number, limit: number): Promise<Selectable<EventsTable>[]> {
    return db.selectFrom('events').selectAll().where('event_id', '>', afterId).orderBy('event_id').limit(limit).execute()
  }

  async setPayload(tx: Tx, eventId: number, payload: string): Promise<void> {
    await tx.updateTable('events').set({ payload }).where('event_id', '=', eventId).execute()
  }

  /** @returns how many were deleted, at most `limit` */
  async deleteOlder(tx: Tx, createdBefore: number, limit: number): Promise<number> {
    const old = tx.selectFrom('events').select('event_id').where('created_at', '<', createdBefore).orderBy('event_id').limit(limit)
    const { numDeletedRows } = await tx.deleteFrom('events').where('event_id', 'in', old).executeTakeFirst()
    return Number(numDeletedRows)
  }
}
