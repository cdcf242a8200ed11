import type { Queryable, Tx } from '../../../db/database.js'
import { paddedForPlanCache } from '../../../lib/chunks.js'
import type { UserKey } from '../../users/user-model.js'

/** Aliases and tags of users. */
export class PushPreferenceStore {
  /** Tests whether the token belongs to a device of the user or to the user's settings. */
  async hasPushToken(tx: Tx, { appId, userId }: UserKey, pushToken: string): Promise<boolean> {
    const of = (table: 'devices' | 'user_settings') =>
      tx
        .selectFrom(table)
        .select('user_id')
        .where('app_id', '=', appId)
        .where('user_id', '=', userId)
        .where('push_token', '=', pushToken)
    return (
      (await of('devices').unionAll(of('user_settings')).limit(1).executeTakeFirst()) !== undefined
    )
  }

  /** Tests whether the token belongs to a device or to the settings of another user. */
  async isPushTokenOfOther(
    tx: Tx,
    { appId, userId }: UserKey,
    pushToken: string,
  ): Promise<boolean> {
    const of = (table: 'devices' | 'user_settings') =>
      tx
        .selectFrom(table)
        .select('user_id')
        .where('app_id', '=', appId)
        .where('push_token', '=', pushToken)
        .where('user_id', '<>', userId)
        .limit(1)
        .executeTakeFirst()
    return ((await of('devices')) ?? (await of('user_settings'))) !== undefined
  }

  /** @returns false when the alias belongs to another user */
  async bindAlias(tx: Tx, { appId, userId }: UserKey, alias: string): Promise<boolean> {
    await tx
      .insertInto('push_aliases')
      .values({ app_id: appId, alias, user_id: userId })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    const bound = tx
      .selectFrom('push_aliases')
      .select('user_id')
      .where('app_id', '=', appId)
      .where('alias', '=', alias)
    return (await bound.executeTakeFirst())?.user_id === userId
  }

  async deleteOtherAliases(tx: Tx, { appId, userId }: UserKey, alias: string): Promise<void> {
    await tx
      .deleteFrom('push_aliases')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('alias', '<>', alias)
      .execute()
  }

  /** Lists in no particular order. */
  async listTags(db: Queryable, { appId, userId }: UserKey): Promise<string[]> {
    const rows = await db
      .selectFrom('push_tags')
      .select('tag')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
    return rows.map(({ tag }) => tag)
  }

  /** Adds tags; existing ones stay. */
  async addTags(tx: Tx, { appId, userId }: UserKey, tags: readonly string[]): Promise<void> {
    const rows = tags.map((tag) => ({ app_id: appId, user_id: userId, tag }))
    await tx
      .insertInto('push_tags')
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }

  async removeTags(tx: Tx, { appId, userId }: UserKey, tags: readonly string[]): Promise<void> {
    await tx
      .deleteFrom('push_tags')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('tag', 'in', paddedForPlanCache(tags))
      .execute()
  }

  async clearTags(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('push_tags')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }

  async eraseUser(tx: Tx, user: UserKey): Promise<void> {
    await tx
      .deleteFrom('push_aliases')
      .where('app_id', '=', user.appId)
      .where('user_id', '=', user.userId)
      .execute()
    await this.clearTags(tx, user)
  }
}
