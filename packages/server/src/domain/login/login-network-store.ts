import type { Queryable, Tx } from '../../db/database.js'
import type { UserKey } from '../users/user-model.js'

/** Networks from which users have logged in: an IPv4 address or an IPv6 /64 each. */
export class LoginNetworkStore {
  /** Returns the time of a login from the network, ms; null without one. */
  async findLoginAt(
    db: Queryable,
    { appId, userId }: UserKey,
    network: string,
  ): Promise<number | null> {
    const row = await db
      .selectFrom('login_networks')
      .select('logged_in_at')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('network', '=', network)
      .executeTakeFirst()
    return row?.logged_in_at ?? null
  }

  /** Records a login, and deletes the networks of the user except the latest ones. */
  async put(
    tx: Tx,
    { appId, userId }: UserKey,
    { network, at, keep }: { readonly network: string; readonly at: number; readonly keep: number },
  ): Promise<void> {
    await tx
      .insertInto('login_networks')
      .values({ app_id: appId, user_id: userId, network, logged_in_at: at })
      .onConflict((conflict) =>
        conflict.columns(['app_id', 'user_id', 'network']).doUpdateSet({ logged_in_at: at }),
      )
      .execute()
    const latest = tx
      .selectFrom('login_networks')
      .select('network')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .orderBy('logged_in_at', 'desc')
      .orderBy('network')
      .limit(keep)
    await tx
      .deleteFrom('login_networks')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('network', 'not in', latest)
      .execute()
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('login_networks')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}
