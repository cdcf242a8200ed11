import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { AccountService } from '../accounts/account-service.js'
import { systemUserId, type UserKey } from '../accounts/user-model.js'
import type { PinStore } from './pin-store.js'

export interface PinServiceOptions {
  readonly database: Database
  readonly store: PinStore
  readonly accounts: AccountService
  readonly clock: Clock
}

const pinsPerUser = 1_000

/** Conversations that a user keeps on top; they need not have begun. */
export class PinService {
  constructor(private readonly options: PinServiceOptions) {}

  /**
   * A conversation that is pinned already keeps its place.
   * @throws AppError user_not_found, user_deleted, pin_limit_reached
   */
  async pin(user: UserKey, conversationId: Int64): Promise<void> {
    const { database, store, accounts, clock } = this.options
    if (conversationId !== systemUserId) await accounts.requireUser(user.appId, conversationId)
    await database.transaction(async (tx) => {
      await accounts.lock(tx, user.appId, user.userId)
      const pins = await store.list(tx, user)
      if (pins.some((pin) => pin.conversationId === conversationId)) return
      if (pins.length >= pinsPerUser) throw new AppError('pin_limit_reached')
      const newest = pins[0]?.pinnedAt ?? 0
      await store.insert(tx, user, { conversationId, pinnedAt: Math.max(clock.now(), newest + 1) })
    })
  }

  /** A conversation that is not pinned is passed over. */
  async unpin(user: UserKey, conversationId: Int64): Promise<void> {
    const { database, store } = this.options
    await database.transaction((tx) => store.delete(tx, user, conversationId))
  }

  /** Newest pin first. */
  async list(user: UserKey): Promise<Int64[]> {
    const { database, store } = this.options
    return (await database.read((db) => store.list(db, user))).map(({ conversationId }) => conversationId)
  }
}
