import { AppError } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { AccountService } from '../../users/account-service.js'
import type { UserKey } from '../../users/user-model.js'
import type { UserBadge } from '../../users/user-row.js'
import type { PushPreferenceStore } from './push-preference-store.js'

interface PushPreferenceServiceOptions {
  readonly database: Database
  readonly store: PushPreferenceStore
  readonly users: UserBadge
  readonly accounts: AccountService
  readonly outbox: Outbox
}

const tagsPerUser = 100

/** Alias, tags and badge of users for pushes (rule G7). */
export class PushPreferenceService {
  constructor(private readonly options: PushPreferenceServiceOptions) {}

  /**
   * Replaces the user's alias; '' removes it.
   * @param pushToken one of the user's; '' for none
   * @throws AppError push_token_mismatch, push_alias_taken
   */
  async setAlias(user: UserKey, alias: string, pushToken: string): Promise<void> {
    const { database, store, accounts } = this.options
    await database.transaction(async (tx) => {
      await accounts.lockForUpdate(tx, user.appId, user.userId)
      if (pushToken !== '' && !(await store.hasPushToken(tx, user, pushToken)))
        throw new AppError('push_token_mismatch')
      if (alias !== '' && !(await store.bindAlias(tx, user, alias)))
        throw new AppError('push_alias_taken')
      await store.deleteOtherAliases(tx, user, alias)
    })
  }

  async setBadge(user: UserKey, badge: number): Promise<void> {
    const { database, users, accounts } = this.options
    await database.transaction(async (tx) => {
      await accounts.lockForUpdate(tx, user.appId, user.userId)
      await users.setBadge(tx, user, badge)
    })
  }

  /** Lists in the order of UTF-16 code units, on every database. */
  async listTags(user: UserKey): Promise<string[]> {
    const { database, store } = this.options
    return (await database.read((db) => store.listTags(db, user))).sort()
  }

  /** @throws AppError push_tag_limit_reached; then no tag is added */
  async addTags(user: UserKey, tags: readonly string[]): Promise<void> {
    const { database, store, accounts } = this.options
    await database.transaction(async (tx) => {
      await accounts.lockForUpdate(tx, user.appId, user.userId)
      const known = await store.listTags(tx, user)
      if (new Set([...known, ...tags]).size > tagsPerUser)
        throw new AppError('push_tag_limit_reached')
      await store.addTags(tx, user, [...new Set(tags)])
      this.#announceTags(tx, user)
    })
  }

  /** Removes tags; ignores tags that the user does not have. */
  async removeTags(user: UserKey, tags: readonly string[]): Promise<void> {
    const { database, store } = this.options
    await database.transaction(async (tx) => {
      await store.removeTags(tx, user, tags)
      this.#announceTags(tx, user)
    })
  }

  async clearTags(user: UserKey): Promise<void> {
    const { database, store } = this.options
    await database.transaction(async (tx) => {
      await store.clearTags(tx, user)
      this.#announceTags(tx, user)
    })
  }

  #announceTags(tx: Tx, { appId, userId }: UserKey): void {
    const about = { appId, actorId: userId, userIds: [userId] }
    const properties = ['push_tags']
    this.options.outbox.append(tx, actorEvent('user.settings_updated', about, { properties }))
  }
}
