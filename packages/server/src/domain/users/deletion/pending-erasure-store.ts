import type { Int64 } from '@hermod/protocol'
import type { Queryable, Tx } from '../../../db/database.js'

interface PendingErasures {
  readonly appId: string
  readonly userIds: readonly Int64[]
}

/** Deleted users whose texts are still to be taken out of the outbox. */
export class PendingErasureStore {
  async insert(tx: Tx, appId: string, userId: Int64, createdAt: number): Promise<void> {
    await tx
      .insertInto('pending_erasures')
      .values({ app_id: appId, user_id: userId, created_at: createdAt })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }

  /** Users of one application, at most `limit`; null when there is none. */
  async findSome(db: Queryable, limit: number): Promise<PendingErasures | null> {
    const rows = await db
      .selectFrom('pending_erasures')
      .select(['app_id', 'user_id'])
      .orderBy('app_id')
      .limit(limit)
      .execute()
    const appId = rows[0]?.app_id
    if (appId === undefined) return null
    return { appId, userIds: rows.filter((row) => row.app_id === appId).map((row) => row.user_id) }
  }

  async delete(tx: Tx, { appId, userIds }: PendingErasures): Promise<void> {
    await tx
      .deleteFrom('pending_erasures')
      .where('app_id', '=', appId)
      .where('user_id', 'in', userIds)
      .execute()
  }
}
