import type { Int64 } from '@hermod/protocol'
import type { Selectable } from 'kysely'
import type { Database, Executor, Tx } from '../../db/database.js'
import type { UserSettingsTable } from '../../db/schema.js'
import { defaultSettings, type UserSettings } from './user-model.js'

/** Settings of users who ever changed one. */
export class SettingsStore {
  readonly #find

  constructor(database: Database) {
    this.#find = database.prepared<{ appId: string; userId: Int64 }, Selectable<UserSettingsTable>>((db, param) =>
      db.selectFrom('user_settings').selectAll().where('app_id', '=', param('appId')).where('user_id', '=', param('userId')),
    )
  }

  /** @returns null when the user never changed a setting */
  async find(db: Executor, appId: string, userId: Int64): Promise<UserSettings | null> {
    const row = await this.#find.first(db, { appId, userId })
    if (!row) return null
    const { app_id: _, user_id: __, ...settings } = row
    return settings
  }

  /** @param changes at least one */
  async save(tx: Tx, appId: string, userId: Int64, changes: Partial<UserSettings>): Promise<void> {
    await tx
      .insertInto('user_settings')
      .values({ ...defaultSettings, ...changes, app_id: appId, user_id: userId })
      .onConflict((conflict) => conflict.columns(['app_id', 'user_id']).doUpdateSet(changes))
      .execute()
  }
}
