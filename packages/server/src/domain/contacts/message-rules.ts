import { AppError, type ErrorName, type Int64, userStatus } from '@hermod/protocol'
import type { Database } from '../../db/database.js'
import {
  confirmRefusal,
  type Freshness,
  type InvalidatedCache,
} from '../../lib/invalidated-cache.js'
import type { AppService } from '../apps/app-service.js'
import type { AccountService } from '../users/account-service.js'
import type { UserKey, UserState } from '../users/user-model.js'
import { type ContactSide, isAcceptedContact, refusesStrangers } from './contact-model.js'
import type { ContactStore } from './contact-store.js'
import type { Relation } from './relation-cache.js'

interface MessageRulesOptions {
  readonly database: Database
  readonly store: ContactStore
  readonly accounts: AccountService
  readonly apps: AppService
  readonly relationCache: InvalidatedCache<ContactSide, Relation>
}

/** Decides which users take messages from a sender (rule E11). Reads the relation only where it decides. */
export class MessageRules {
  constructor(private readonly options: MessageRulesOptions) {}

  /** The reason why the recipient refuses messages of the sender, or null. */
  async refusal({ appId, userId }: UserKey, senderId: Int64): Promise<ErrorName | null> {
    if (userId === senderId) return null
    return confirmRefusal(
      (freshness) => this.#refusal(appId, userId, senderId, freshness),
      (refusal) => refusal !== null,
    )
  }

  async #refusal(
    appId: string,
    userId: Int64,
    senderId: Int64,
    freshness: Freshness,
  ): Promise<ErrorName | null> {
    const recipient = await this.options.accounts.findState(appId, userId, freshness)
    if (!recipient) return null
    const refusesStrangers = await this.#refusesStrangers(recipient, freshness)
    if (!recipient.hasBlocks && !refusesStrangers) return null
    const found = await this.#relation(appId, userId, senderId, freshness)
    if (found.isBlocked) return 'blocked_by_recipient'
    return refusesStrangers && !isAcceptedContact(found) ? 'stranger_refused' : null
  }

  /**
   * Tests whether a user may send to another with a user token.
   * @throws AppError user_not_found, user_deleted for either of them
   */
  async mayMessage(appId: string, senderId: Int64, recipientId: Int64): Promise<boolean> {
    const [sender, recipient] = await Promise.all([
      confirmRefusal(
        (freshness) => this.#user(appId, senderId, freshness),
        (state) => !isEnabled(state),
      ),
      this.#user(appId, recipientId, 'cached'),
    ])
    return isEnabled(sender) && (await this.refusal(recipient, senderId)) === null
  }

  /** Accepts the contacts that these peers alone have made, since the user writes to them (rule E11). */
  async acceptWrittenTo({ appId, userId }: UserKey, peerIds: readonly Int64[]): Promise<void> {
    const { database, store } = this.options
    const relations = await Promise.all(
      peerIds.map((peerId) => this.#relation(appId, userId, peerId, 'cached')),
    )
    const unasked = peerIds.filter((_, index) => relations[index]?.isUnasked)
    if (unasked.length > 0)
      await database.transaction((tx) => store.accept(tx, { appId, userId }, unasked))
  }

  async #refusesStrangers(
    { appId, strangerChat }: UserState,
    freshness: Freshness,
  ): Promise<boolean> {
    const { settings } = await this.options.apps.get(appId, freshness)
    return refusesStrangers(strangerChat, settings)
  }

  async #relation(
    appId: string,
    userId: Int64,
    peerId: Int64,
    freshness: Freshness,
  ): Promise<Relation> {
    const { database, store, relationCache } = this.options
    const side = { appId, userId, peerId }
    const read = () => database.read((db) => store.findRelation(db, side))
    return (await relationCache.load(side, read, freshness)) as Relation
  }

  async #user(appId: string, userId: Int64, freshness: Freshness): Promise<UserState> {
    const state = await this.options.accounts.findState(appId, userId, freshness)
    if (!state) throw new AppError('user_not_found')
    if (state.isDeleted) throw new AppError('user_deleted')
    return state
  }
}

function isEnabled({ status }: UserState): boolean {
  return status === userStatus.normal
}
