import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'
import { defaultSettings, type StoredSettings, type UserKey } from '../user-model.js'

const columns = Object.keys(defaultSettings) as (keyof StoredSettings)[]

/** Settings of users who have changed one. */
export class SettingsStore {
  readonly #find

  constructor(
    database: Database,
    private readonly states: Invalidates<UserKey>,
  ) {
    this.#find = database.prepared<{ appId: string; userId: Int64 }, StoredSettings>((db, param) =>
      db
        .selectFrom('user_settings')
        .select(columns)
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId')),
    )
  }

  /** @returns null when the user has never changed a setting */
  async find(db: Queryable, appId: string, userId: Int64): Promise<StoredSettings | null> {
    return this.#find.first(db, { appId, userId })
  }

  /** @param changes at least one */
  async save(
    tx: Tx,
    appId: string,
    userId: Int64,
    changes: Partial<StoredSettings>,
  ): Promise<void> {
    this.states.forget(tx, { appId, userId })
    await tx
      .insertInto('user_settings')
      .values({ ...defaultSettings, ...changes, app_id: appId, user_id: userId })
      .onConflict((conflict) => conflict.columns(['app_id', 'user_id']).doUpdateSet(changes))
      .execute()
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    this.states.forget(tx, { appId, userId })
    await tx
      .deleteFrom('user_settings')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}
