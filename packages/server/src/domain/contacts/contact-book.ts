import { AppError, authMode, contactRequestStatus, type Int64, relation } from '@hermod/protocol'
import type { Tx } from '../../db/database.js'
import { type Clock, runsOutAt } from '../../lib/clock.js'
import type { Outbox } from '../../outbox/outbox.js'
import { readAppSettings } from '../apps/app-settings.js'
import { type ConversationKey, directConversation } from '../messaging/model/conversation-model.js'
import { LockedUsers, type UserLocker } from '../users/locked-users.js'
import { contactEvent } from './contact-events.js'
import {
  type AuthRule,
  type Contact,
  type ContactSide,
  checkContactRequest,
  noContact,
} from './contact-model.js'
import type { ContactRequestStore } from './contact-request-store.js'
import type { ContactStore } from './contact-store.js'

interface ContactBookOptions {
  readonly store: ContactStore
  readonly users: UserLocker
  readonly contactRequests: ContactRequestStore
  readonly outbox: Outbox
  readonly clock: Clock
  readonly messages: {
    hasSentLately(tx: Tx, conversation: ConversationKey, senderId: Int64): Promise<boolean>
  }
}

/** Makes users contacts of each other, for all services that decide on it. */
export class ContactBook {
  constructor(private readonly options: ContactBookOptions) {}

  /** Locks users, so that other changes between them and their deletion wait until the transaction ends. */
  async lockForUpdate(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<LockedUsers> {
    return LockedUsers.lockForUpdate(tx, this.options.users, appId, userIds)
  }

  /**
   * Makes locked users contacts and settles their open contact requests.
   *
   * @param peers distinct; `alias` is the user's own name for the peer and `aliasOfUser` the peer's
   * for the user, '' keeps the present one;
   *   `isUnasked` true when the user alone has made the contact
   * @throws AppError contact_limit_reached; then no row was written
   */
  async makeContacts(
    tx: Tx,
    { appId, userId }: { appId: string; userId: Int64 },
    peers: readonly {
      readonly userId: Int64
      readonly alias?: string
      readonly aliasOfUser?: string
      readonly isUnasked?: boolean
    }[],
  ): Promise<void> {
    const { store, contactRequests, clock } = this.options
    const peerIds = peers.map((peer) => peer.userId)
    const { contact_limit: limit } = await readAppSettings(tx, appId)
    const counts = await store.countContacts(tx, appId, [userId, ...peerIds])
    const isFull = (id: Int64, added: number) => (counts.get(id) ?? 0) + added > limit
    if (isFull(userId, peers.length) || peerIds.some((peerId) => isFull(peerId, 1)))
      throw new AppError('contact_limit_reached')
    const now = clock.now()
    const sides = peers.flatMap((peer) => [
      { userId, peerId: peer.userId, alias: peer.alias ?? '', isUnasked: false },
      {
        ...{ userId: peer.userId, peerId: userId, alias: peer.aliasOfUser ?? '' },
        isUnasked: peer.isUnasked ?? false,
      },
    ])
    await store.makeContacts(tx, appId, sides, now)
    await contactRequests.acceptOpen(tx, appId, userId, peerIds, now)
  }

  /**
   * Makes two users contacts without a request, in the transaction of the caller.
   * @throws AppError user_not_found, user_deleted, contact_limit_reached
   */
  async connect(tx: Tx, appId: string, userId: Int64, peerId: Int64): Promise<void> {
    await this.add(tx, { appId, userId }, [peerId])
  }

  /**
   * Makes a new user, who has no contacts yet, a contact of the peer or sends the peer a request,
   * as the peer's settings demand.
   * @throws AppError user_not_found, user_deleted, contact_limit_reached, contact_requests_refused,
   * wrong_auth_answer
   */
  async request(tx: Tx, appId: string, userId: Int64, peerId: Int64): Promise<void> {
    const users = await this.lockForUpdate(tx, appId, [userId, peerId])
    users.require(peerId)
    const rule = await this.options.store.findAuthRule(tx, appId, peerId)
    if (checkContactRequest(rule, undefined) === 'ask')
      await this.ask(tx, { appId, userId, peerId }, { alias: '', reason: '' })
    else {
      const isUnasked = await this.isUnasked(tx, { appId, userId, peerId }, rule, noContact)
      await this.add(tx, { appId, userId }, [peerId], isUnasked)
    }
  }

  /**
   * Tests whether a contact that the user makes is unasked: auth_mode asks the peer nothing, and
   * the peer has not written to the user. What was written before the two were separated does not
   * count.
   * @param theirs the relation as the peer has it
   */
  async isUnasked(
    tx: Tx,
    { appId, userId, peerId }: ContactSide,
    rule: Pick<AuthRule, 'authMode'>,
    theirs: Pick<Contact, 'state'>,
  ): Promise<boolean> {
    if (rule.authMode !== authMode.open) return false
    if (theirs.state === relation.former) return true
    const conversation = directConversation(appId, userId, peerId)
    return !(await this.options.messages.hasSentLately(tx, conversation, peerId))
  }

  /** Stores a contact request of the user to the peer. Both are locked. */
  async ask(
    tx: Tx,
    side: ContactSide,
    { alias, reason }: { readonly alias: string; readonly reason: string },
  ): Promise<void> {
    const { contactRequests, outbox, clock } = this.options
    const { appId, userId: applicantId, peerId: userId } = side
    const { contact_application_days: days } = await readAppSettings(tx, appId)
    const createdAt = clock.now()
    const request = {
      applicantId,
      alias,
      reason,
      status: contactRequestStatus.waiting,
      createdAt,
      expiresAt: runsOutAt(createdAt, days),
    }
    await contactRequests.put(tx, { appId, userId }, request)
    outbox.append(tx, contactEvent(side, 'applied', { reason }))
  }

  /**
   * Makes the user and these peers contacts without a request. Present contacts stay as they are.
   *
   * @param peerIds distinct, without the user
   * @param isUnasked as for {@link makeContacts}
   * @returns the new contacts
   * @throws AppError user_not_found, user_deleted, contact_limit_reached; then no contact is added
   */
  async add(
    tx: Tx,
    who: { readonly appId: string; readonly userId: Int64 },
    peerIds: readonly Int64[],
    isUnasked = false,
  ): Promise<readonly Int64[]> {
    const { store, outbox } = this.options
    const { appId, userId } = who
    const users = await this.lockForUpdate(tx, appId, [userId, ...peerIds])
    users.require(userId)
    users.require(...peerIds)
    const known = await store.findContacts(tx, appId, userId, peerIds)
    const added = peerIds.filter((peerId) => !known.has(peerId))
    if (added.length === 0) return added
    await this.makeContacts(
      tx,
      who,
      added.map((peerId) => ({ userId: peerId, isUnasked })),
    )
    outbox.append(tx, ...added.map((peerId) => contactEvent({ appId, userId, peerId }, 'added')))
    return added
  }
}
