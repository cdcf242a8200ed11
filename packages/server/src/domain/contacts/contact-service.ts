import { AppError, type Int64, relation, systemUserId } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { type EventLoopBudget, lookupChunk } from '../../lib/concurrency/event-loop-budget.js'
import { definedOnly } from '../../lib/defined-only.js'
import type { Outbox } from '../../outbox/outbox.js'
import type { AppService } from '../apps/app-service.js'
import { requireName } from '../names.js'
import { type PageRequest, readIdCursor, writeCursor } from '../paging.js'
import type { AccountService } from '../users/account-service.js'
import type { LockedUsers } from '../users/locked-users.js'
import type { LookupCaller, NumberLookupLimit } from '../users/number-lookup-limit.js'
import type { ContactBook } from './contact-book.js'
import { contactEvent } from './contact-events.js'
import {
  type ContactChanges,
  type ContactEntry,
  type ContactSide,
  systemEntry,
} from './contact-model.js'
import type { ContactStore } from './contact-store.js'

interface ContactServiceOptions {
  readonly database: Database
  readonly store: ContactStore
  readonly book: ContactBook
  readonly accounts: AccountService
  readonly apps: AppService
  readonly outbox: Outbox
  readonly clock: Clock
  readonly budget: EventLoopBudget
  readonly numbers: Pick<NumberLookupLimit, 'take'>
}

/** The user whose contacts are read or changed. */
export interface ContactActor {
  readonly appId: string
  readonly userId: Int64
}

/** Covers the contacts of clients that read one page only. */
const maxPage = 10_000

/** Reads and changes contact lists and block lists. */
export class ContactService {
  constructor(private readonly options: ContactServiceOptions) {}

  /**
   * Runs a change between the acting user and others with all of them locked. `work` may run more than once.
   */
  async change<T>(
    { appId, userId }: ContactActor,
    peerIds: readonly Int64[],
    work: (tx: Tx, users: LockedUsers) => Promise<T>,
  ): Promise<T> {
    const { database, book } = this.options
    return database.transaction(async (tx) =>
      work(tx, await book.lockForUpdate(tx, appId, [userId, ...peerIds])),
    )
  }

  /** @throws AppError not_contact */
  async delete(actor: ContactActor, peerId: Int64): Promise<void> {
    const { store, clock } = this.options
    await this.change(actor, [peerId], async (tx) => {
      const side = { ...actor, peerId }
      await this.#requireContact(tx, side)
      const cleared = { state: relation.former, alias: '', ext: '', isMuted: false }
      await store.update(tx, side, cleared, clock.now())
      await store.update(tx, otherSide(side), { state: relation.former }, clock.now())
      this.options.outbox.append(tx, contactEvent(side, 'removed'))
    })
  }

  /**
   * Changes the given fields only.
   * @throws AppError invalid_parameter, not_contact
   */
  async update(
    actor: ContactActor,
    peerId: Int64,
    { isMuted, ...texts }: ContactChanges,
  ): Promise<void> {
    const { store, clock } = this.options
    requireName(texts.alias ?? '', 'alias')
    await this.change(actor, [peerId], async (tx) => {
      const side = { ...actor, peerId }
      const before = await this.#requireContact(tx, side)
      const isMuting = isMuted !== undefined && isMuted !== before.isMuted
      const changed = definedOnly(texts)
      const hasTexts = Object.keys(changed).length > 0
      if (!hasTexts && !isMuting && !before.isUnasked) return
      await store.update(tx, side, { ...changed, isMuted }, clock.now())
      if (hasTexts) this.options.outbox.append(tx, contactEvent(side, 'info_updated', { changed }))
      if (isMuting)
        this.options.outbox.append(tx, contactEvent(side, isMuted ? 'muted' : 'unmuted'))
    })
  }

  /** @throws AppError user_not_found, user_deleted, invalid_parameter for oneself */
  async block(actor: ContactActor, peerId: Int64): Promise<void> {
    if (peerId === actor.userId)
      throw new AppError('invalid_parameter', 'user_id must not be the user itself')
    await this.change(actor, [peerId], async (tx, users) => {
      users.require(actor.userId)
      users.require(peerId)
      await this.#setBlocked(tx, { ...actor, peerId }, true)
    })
  }

  async unblock(actor: ContactActor, peerId: Int64): Promise<void> {
    await this.change(actor, [peerId], (tx) => this.#setBlocked(tx, { ...actor, peerId }, false))
  }

  /**
   * Adds contacts without a request: all of them or none.
   * @throws AppError user_not_found, user_deleted, contact_limit_reached, invalid_parameter for oneself
   */
  async add(actor: ContactActor, userIds: readonly Int64[]): Promise<void> {
    if (userIds.includes(actor.userId))
      throw new AppError('invalid_parameter', 'list must not hold the user itself')
    const peerIds = [...new Set(userIds)]
    await this.change(actor, peerIds, (tx) => this.options.book.add(tx, actor, peerIds))
  }

  /** By user ID; @param page.limit default and maximum 10,000 */
  async list(
    { appId, userId }: ContactActor,
    page: PageRequest,
  ): Promise<{ userIds: readonly Int64[]; nextCursor: string | null; version: number }> {
    const { database, store } = this.options
    const limit = Math.min(page.limit ?? maxPage, maxPage)
    const afterId = readIdCursor(page.cursor) ?? 0
    const [found, version] = await database.read((db) =>
      Promise.all([
        store.list(db, appId, userId, { afterId, limit: limit + 1 }),
        store.lastChange(db, appId, userId),
      ]),
    )
    const userIds = found.slice(0, limit)
    const last = found.length > limit ? userIds.at(-1) : undefined
    return { userIds, nextCursor: last === undefined ? null : writeCursor(last), version }
  }

  /** By user ID. */
  async listBlocked({ appId, userId }: ContactActor): Promise<Int64[]> {
    return this.options.database.read((db) => this.options.store.listBlocked(db, appId, userId))
  }

  /** By user ID. */
  async listNames({ appId, userId }: ContactActor): Promise<{ userId: Int64; name: string }[]> {
    const { database, store, budget } = this.options
    const names: { userId: Int64; name: string }[] = []
    for (;;) {
      await budget.begin()
      const afterId = names.at(-1)?.userId ?? 0
      const found = await database.read((db) =>
        store.listNames(db, appId, userId, { afterId, limit: lookupChunk }),
      )
      names.push(...found)
      if (found.length < lookupChunk) return names
    }
  }

  /**
   * Lists users as the actor sees them, in the given order and each once, without unknown and
   * deleted ones.
   */
  async findMany(
    { appId, userId }: ContactActor,
    userIds: readonly Int64[],
  ): Promise<ContactEntry[]> {
    const { database, store, budget } = this.options
    const distinct = [...new Set(userIds)]
    const entries = new Map<Int64, ContactEntry>()
    for await (const chunk of budget.chunks(distinct, lookupChunk)) {
      const found = await database.read((db) =>
        store.findEntries(db, appId, userId, { userIds: chunk }),
      )
      for (const entry of found) entries.set(entry.userId, entry)
    }
    if (distinct.includes(systemUserId)) entries.set(systemUserId, await this.#system(appId))
    return distinct.flatMap((id) => entries.get(id) ?? [])
  }

  /** @throws AppError user_not_found, too_many_requests */
  async getByMobile(actor: ContactActor & LookupCaller, mobile: string): Promise<ContactEntry> {
    this.options.numbers.take(actor)
    return this.get(actor, { mobile })
  }

  /** @throws AppError user_not_found, user_deleted */
  async get(
    { appId, userId }: ContactActor,
    by: { userId: Int64 } | { username: string } | { mobile: string },
  ): Promise<ContactEntry> {
    const { database, store, accounts } = this.options
    if ('userId' in by && by.userId === systemUserId) return this.#system(appId)
    const [entry] = await database.read((db) =>
      store.findEntries(db, appId, userId, 'userId' in by ? { userIds: [by.userId] } : by),
    )
    // Throws user_not_found or user_deleted.
    if (!entry && 'userId' in by) await accounts.get(appId, by.userId)
    if (!entry) throw new AppError('user_not_found')
    return entry
  }

  /** The system, which all users see alike (rule E11b). */
  async #system(appId: string): Promise<ContactEntry> {
    const { settings } = await this.options.apps.get(appId)
    return systemEntry(settings)
  }

  async #setBlocked(tx: Tx, side: ContactSide, isBlocked: boolean): Promise<void> {
    const { store, clock } = this.options
    if ((await store.find(tx, side)).isBlocked === isBlocked) return
    await store.setBlocked(tx, side, isBlocked, clock.now())
    this.options.outbox.append(tx, contactEvent(side, isBlocked ? 'blocked' : 'unblocked'))
  }

  async #requireContact(tx: Tx, side: ContactSide) {
    const contact = await this.options.store.find(tx, side)
    if (contact.state !== relation.contact) throw new AppError('not_contact')
    return contact
  }
}

/** The relation seen from the peer. */
export function otherSide({ appId, userId, peerId }: ContactSide): ContactSide {
  return { appId, userId: peerId, peerId: userId }
}
