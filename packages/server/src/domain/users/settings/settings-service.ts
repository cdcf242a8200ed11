import { AppError, type Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import { requireName } from '../../names.js'
import type { AccountService } from '../account-service.js'
import { defaultSettings, type StoredSettings, type UserKey } from '../user-model.js'
import type { SettingsStore } from './settings-store.js'

/** The owners of push tokens. */
export interface PushTokenOwners {
  /** Tests whether the token belongs to a device or to the settings of another user. */
  isPushTokenOfOther(tx: Tx, user: UserKey, pushToken: string): Promise<boolean>
}

/** User settings for discovery, contact and notification (rule D7). */
export class SettingsService {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: SettingsStore
      readonly accounts: AccountService
      readonly pushTokens: PushTokenOwners
      readonly outbox: Outbox
    },
  ) {}

  async get(appId: string, userId: Int64): Promise<StoredSettings> {
    const { database, store } = this.options
    return (await database.read((db) => store.find(db, appId, userId))) ?? defaultSettings
  }

  /**
   * Changes settings; omitted ones stay unchanged.
   * @param field wire name of push_nick_name
   * @throws AppError invalid_parameter, push_token_mismatch, user_not_found, user_deleted
   */
  async update(
    appId: string,
    userId: Int64,
    changes: Partial<StoredSettings>,
    field = 'push_nick_name',
  ): Promise<void> {
    const { database, store, accounts, pushTokens, outbox } = this.options
    const { push_token: pushToken = '' } = changes
    if (changes.push_nick_name !== undefined) requireName(changes.push_nick_name, field)
    if (Object.keys(changes).length === 0) return
    await database.transaction(async (tx) => {
      await accounts.lockKeyShare(tx, appId, userId)
      if (
        pushToken !== '' &&
        (await pushTokens.isPushTokenOfOther(tx, { appId, userId }, pushToken))
      )
        throw new AppError('push_token_mismatch', 'push_token is the token of another user')
      await store.save(tx, appId, userId, changes)
      // Names only: an answer or a push token is a secret.
      const properties = Object.keys(changes)
      const about = { appId, actorId: userId, userIds: [userId] }
      outbox.append(tx, actorEvent('user.settings_updated', about, { properties }))
    })
  }
}
