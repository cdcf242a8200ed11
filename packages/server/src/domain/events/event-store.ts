import type { Tx } from '../../db/database.js'
import type { Event } from './event-model.js'

/** The log of committed facts; whoever tells others of them reads it in the order of the event IDs. */
export class EventStore {
  /** @param eventIds one for each event, ascending */
  async append(tx: Tx, events: readonly Event[], eventIds: readonly number[], createdAt: number): Promise<void> {
    if (events.length === 0) return
    const rows = events.map(({ appId, kind, actorId, userIds, content }, index) => ({
      event_id: eventIds[index] as number,
      app_id: appId,
      kind,
      payload: JSON.stringify({ actor: Number(actorId), users: userIds.map(Number), content }),
      created_at: createdAt,
    }))
    await tx.insertInto('events').values(rows).execute()
  }

  /** @returns how many were deleted, at most `limit` */
  async deleteOlder(tx: Tx, createdBefore: number, limit: number): Promise<number> {
    const old = tx.selectFrom('events').select('event_id').where('created_at', '<', createdBefore).orderBy('event_id').limit(limit)
    const { numDeletedRows } = await tx.deleteFrom('events').where('event_id', 'in', old).executeTakeFirst()
    return Number(numDeletedRows)
  }
}
