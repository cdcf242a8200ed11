import { camelCase } from '../../../db/columns.js'
import type { Queryable, Tx } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'

/** Number of users of an app without deleted ones, and the ID of its last broadcast; 0: none. */
export interface UserCount {
  readonly users: number
  readonly lastBroadcastId: number
}

/**
 * User counts with the last broadcast. The row of an app orders registrations, deletions and
 * broadcasts (decision page 028). It is locked last, before the head of the outbox only.
 */
export class UserCountStore {
  constructor(private readonly broadcasts: Invalidates<string>) {}

  async find(db: Queryable, appId: string): Promise<UserCount> {
    const row = await db
      .selectFrom('user_counts')
      .select(camelCase(['users', 'last_broadcast_id']))
      .where('app_id', '=', appId)
      .executeTakeFirst()
    return row ?? { users: 0, lastBroadcastId: 0 }
  }

  /**
   * Adds to the number of users; negative for deletions. Until the transaction ends, other
   * additions, deletions and broadcasts wait.
   * @returns the count with them
   */
  async add(tx: Tx, appId: string, users: number): Promise<UserCount> {
    return tx
      .insertInto('user_counts')
      .values({ app_id: appId, users })
      .onConflict((conflict) =>
        conflict.column('app_id').doUpdateSet({ users: sql`user_counts.users + excluded.users` }),
      )
      .returning(camelCase(['users', 'last_broadcast_id']))
      .executeTakeFirstOrThrow()
  }

  /** Locks the count without a change. */
  async lock(tx: Tx, appId: string): Promise<UserCount> {
    return this.add(tx, appId, 0)
  }

  /** Counts the users who are programs, by an index of these alone. */
  async countBots(tx: Tx, appId: string): Promise<number> {
    const row = await tx
      .selectFrom('users')
      .select(({ fn }) => fn.countAll<number>().as('bots'))
      .where('app_id', '=', appId)
      .where('is_bot', '=', sql.lit(1))
      .where('deleted_at', 'is', null)
      .executeTakeFirstOrThrow()
    return Number(row.bots)
  }

  /** Records a broadcast, in a transaction that has locked the count. */
  async noteBroadcast(tx: Tx, appId: string, messageId: number): Promise<void> {
    this.broadcasts.forget(tx, appId)
    await tx
      .updateTable('user_counts')
      .set({ last_broadcast_id: messageId })
      .where('app_id', '=', appId)
      .execute()
  }
}
