import { AppError, type Int64 } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { GroupAccess } from '../../groups/core/group-access.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import type { AccountService } from '../../users/account-service.js'
import { systemUserId } from '../../users/system-user.js'
import type { UserKey } from '../../users/user-model.js'
import type { PinStore } from './pin-store.js'

export interface PinServiceOptions {
  readonly database: Database
  readonly store: PinStore
  readonly accounts: AccountService
  readonly groupAccess: GroupAccess
  readonly groupCache: GroupCache
  readonly outbox: Outbox
  readonly clock: Clock
}

const pinsPerUser = 1_000

/** Pins conversations to the top of a user's list, begun or not. */
export class PinService {
  constructor(private readonly options: PinServiceOptions) {}

  /**
   * Pins a conversation. A pinned one keeps its place.
   * @throws AppError user_not_found, user_deleted, pin_limit_reached; for a group also
   * group_not_found when it is dissolved, not_group_member
   */
  async pin(user: UserKey, conversationId: Int64): Promise<void> {
    const { database, accounts, groupAccess } = this.options
    const { appId, userId } = user
    if (await this.#isGroup(appId, conversationId)) {
      const member = { appId, userId, isAdminToken: false, adminOf: null, actorId: userId }
      await groupAccess.change(member, conversationId, 'own', { userIds: [userId] }, (tx) =>
        this.#add(tx, user, conversationId),
      )
      return
    }
    if (conversationId !== systemUserId) await accounts.requireUser(appId, conversationId)
    await database.transaction(async (tx) => {
      await accounts.lockForUpdate(tx, appId, userId)
      await this.#add(tx, user, conversationId)
    })
  }

  /** Unpins a conversation, if it is pinned. */
  async unpin(user: UserKey, conversationId: Int64): Promise<void> {
    const { database, store } = this.options
    await database.transaction(async (tx) => {
      if (await store.delete(tx, user, conversationId))
        this.#announce(tx, 'conversation.unpinned', user, conversationId)
    })
  }

  /** Lists pinned conversations, newest pin first. */
  async list(user: UserKey): Promise<Int64[]> {
    const { database, store } = this.options
    return (await database.read((db) => store.list(db, user))).map(
      ({ conversationId }) => conversationId,
    )
  }

  async #isGroup(appId: string, conversationId: Int64): Promise<boolean> {
    const { accounts, groupCache } = this.options
    if (conversationId === systemUserId || (await accounts.findState(appId, conversationId)))
      return false
    return (await groupCache.findGroup({ appId, groupId: conversationId })) !== null
  }

  /** Requires a lock on the user. */
  async #add(tx: Tx, user: UserKey, conversationId: Int64): Promise<void> {
    const { store, clock } = this.options
    const pins = await store.list(tx, user)
    if (pins.some((pin) => pin.conversationId === conversationId)) return
    if (pins.length >= pinsPerUser) throw new AppError('pin_limit_reached')
    const newest = pins[0]?.pinnedAt ?? 0
    await store.insert(tx, user, { conversationId, pinnedAt: Math.max(clock.now(), newest + 1) })
    this.#announce(tx, 'conversation.pinned', user, conversationId)
  }

  #announce(
    tx: Tx,
    kind: 'conversation.pinned' | 'conversation.unpinned',
    { appId, userId }: UserKey,
    conversation_id: Int64,
  ): void {
    const about = { appId, actorId: userId, userIds: [userId] }
    this.options.outbox.append(tx, actorEvent(kind, about, { conversation_id }))
  }
}
