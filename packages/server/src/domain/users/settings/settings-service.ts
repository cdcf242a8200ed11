import type { Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import { requireName } from '../../names.js'
import type { AccountService } from '../account-service.js'
import { defaultSettings, type StoredSettings } from '../user-model.js'
import type { SettingsStore } from './settings-store.js'

/** User settings for discovery, contact and notification (rule D7). */
export class SettingsService {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: SettingsStore
      readonly accounts: AccountService
    },
  ) {}

  async get(appId: string, userId: Int64): Promise<StoredSettings> {
    const { database, store } = this.options
    return (await database.read((db) => store.find(db, appId, userId))) ?? defaultSettings
  }

  /**
   * Changes settings; omitted ones stay unchanged.
   * @param field wire name of push_nick_name
   * @throws AppError invalid_parameter, user_not_found, user_deleted
   */
  async update(
    appId: string,
    userId: Int64,
    changes: Partial<StoredSettings>,
    field = 'push_nick_name',
  ): Promise<void> {
    const { database, store, accounts } = this.options
    if (changes.push_nick_name !== undefined) requireName(changes.push_nick_name, field)
    if (Object.keys(changes).length === 0) return
    await database.transaction(async (tx) => {
      await accounts.lockKeyShare(tx, appId, userId)
      await store.save(tx, appId, userId, changes)
    })
  }
}
