import { AppError, authMode, contactRequestStatus, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import { chunksOf } from '../../lib/chunks.js'
import type { Clock } from '../../lib/clock.js'
import type { Outbox } from '../../outbox/outbox.js'
import { type ItemOutcome, outcomeOf } from '../item-outcome.js'
import { requireName } from '../names.js'
import { type PageRequest, readCursor, writeCursor } from '../paging.js'
import type { LockedUsers } from '../users/locked-users.js'
import type { ContactBook } from './contact-book.js'
import { contactEvent } from './contact-events.js'
import type { AnswerGuard } from './answer-guard.js'
import {
  type AuthRule,
  type ContactRequest,
  type ContactSide,
  checkContactRequest,
  isAcceptedContact,
  isRequestOpen,
} from './contact-model.js'
import type { ContactRequestStore } from './contact-request-store.js'
import { type ContactActor, type ContactService, otherSide } from './contact-service.js'
import type { ContactStore } from './contact-store.js'

interface ContactRequestServiceOptions {
  readonly database: Database
  readonly store: ContactRequestStore
  readonly contactStore: ContactStore
  readonly contacts: ContactService
  readonly book: ContactBook
  readonly answers: AnswerGuard
  readonly outbox: Outbox
  readonly clock: Clock
}

/** A contact request as the applicant sends it. */
export interface NewContactRequest {
  readonly userId: Int64
  /** The applicant's alias for the user. */
  readonly alias?: string | undefined
  readonly reason?: string | undefined
  readonly authAnswer?: string | undefined
}

const maxPage = 500
const defaultPage = 100
/** Requests per transaction: few commits, and no call waits long for locks. */
const batchChunk = 50

/** Sends and answers contact requests. */
export class ContactRequestService {
  constructor(private readonly options: ContactRequestServiceOptions) {}

  /**
   * @throws AppError user_not_found, user_deleted, already_contact, in_block_list,
   * contact_requests_refused, wrong_auth_answer,
   *   too_many_requests, contact_limit_reached, invalid_parameter
   */
  async apply(actor: ContactActor, request: NewContactRequest): Promise<void> {
    await this.options.contacts.change(actor, [request.userId], (tx, users) =>
      this.#apply(tx, users, actor, request),
    )
  }

  /** Checks each request alone. @returns the errors of {@link apply} */
  async applyMany(
    actor: ContactActor,
    requests: readonly NewContactRequest[],
  ): Promise<ItemOutcome[]> {
    const outcomes: ItemOutcome[] = []
    for (const chunk of chunksOf(requests, batchChunk)) {
      const peerIds = [...new Set(chunk.map((request) => request.userId))]
      const ofChunk = await this.options.contacts.change(actor, peerIds, async (tx, users) => {
        const found: ItemOutcome[] = []
        for (const request of chunk)
          found.push(await outcomeOf(this.#apply(tx, users, actor, request)))
        return found
      })
      outcomes.push(...ofChunk)
    }
    return outcomes
  }

  /** @throws AppError contact_request_not_found, in_block_list, contact_limit_reached */
  async accept(actor: ContactActor, applicantId: Int64): Promise<void> {
    const { book, contactStore, outbox } = this.options
    await this.options.contacts.change(actor, [applicantId], async (tx) => {
      const { alias } = await this.#requireOpen(tx, actor, applicantId)
      const side = { ...actor, peerId: applicantId }
      const [own, theirs] = [
        await contactStore.find(tx, side),
        await contactStore.find(tx, otherSide(side)),
      ]
      if (own.isBlocked || theirs.isBlocked) throw new AppError('in_block_list')
      await book.makeContacts(tx, actor, [{ userId: applicantId, aliasOfUser: alias }])
      outbox.append(tx, contactEvent(side, 'accepted'))
    })
  }

  /** @throws AppError contact_request_not_found */
  async decline(actor: ContactActor, applicantId: Int64, reason: string): Promise<void> {
    const { store, outbox, clock } = this.options
    await this.options.contacts.change(actor, [applicantId], async (tx) => {
      await this.#requireOpen(tx, actor, applicantId)
      await store.setStatus(
        tx,
        { ...actor, applicantId },
        contactRequestStatus.rejected,
        clock.now(),
      )
      outbox.append(tx, contactEvent({ ...actor, peerId: applicantId }, 'declined', { reason }))
    })
  }

  /**
   * Lists requests to the user, newest first, answered ones included.
   * @param page.limit default 100, maximum 500
   */
  async list(
    { appId, userId }: ContactActor,
    page: PageRequest,
  ): Promise<{
    received: readonly ContactRequest[]
    nextCursor: string | null
    version: number
  }> {
    const { database, store } = this.options
    const limit = Math.min(page.limit ?? defaultPage, maxPage)
    const before = readCursor(page.cursor, 2)
    const [found, version] = await database.read((db) =>
      Promise.all([
        store.list(db, appId, userId, { before, limit: limit + 1 }),
        store.lastChange(db, appId, userId),
      ]),
    )
    const received = found.slice(0, limit)
    const last = received.at(-1)
    return {
      received,
      nextCursor:
        found.length > limit && last ? writeCursor(last.createdAt, last.applicantId) : null,
      version,
    }
  }

  /** Refuses before the first write, so that other requests may follow in the same transaction. */
  async #apply(
    tx: Tx,
    users: LockedUsers,
    actor: ContactActor,
    request: NewContactRequest,
  ): Promise<void> {
    const { store, contactStore, book, outbox, clock } = this.options
    const { userId: peerId, alias = '', reason = '' } = request
    if (peerId === actor.userId)
      throw new AppError('invalid_parameter', 'user_id must not be the user itself')
    requireName(alias, 'alias')
    users.require(actor.userId)
    users.require(peerId)
    const side: ContactSide = { ...actor, peerId }
    const [own, theirs] = [
      await contactStore.find(tx, side),
      await contactStore.find(tx, otherSide(side)),
    ]
    if (isAcceptedContact(own)) throw new AppError('already_contact')
    if (own.isBlocked || theirs.isBlocked) throw new AppError('in_block_list')
    if (own.isUnasked)
      return contactStore.update(tx, side, { alias: alias || undefined }, clock.now())
    const received = await store.find(tx, { ...actor, applicantId: peerId })
    if (received && isRequestOpen(received, clock.now())) {
      await book.makeContacts(tx, actor, [{ userId: peerId, alias, aliasOfUser: received.alias }])
      return outbox.append(tx, contactEvent(side, 'accepted'))
    }
    const rule = await contactStore.findAuthRule(tx, actor.appId, peerId)
    if (this.#check(side, rule, request.authAnswer) === 'ask')
      return book.ask(tx, side, { alias, reason })
    const isUnasked = await book.isUnasked(tx, side, rule, theirs)
    await book.makeContacts(tx, actor, [{ userId: peerId, alias, isUnasked }])
    outbox.append(tx, contactEvent(side, 'added'))
  }

  /** @throws AppError contact_requests_refused, wrong_auth_answer, too_many_requests */
  #check(side: ContactSide, rule: AuthRule, answer: string | undefined): 'contacts' | 'ask' {
    const check = () => checkContactRequest(rule, answer)
    // A call without an answer guesses nothing.
    const isGuess = rule.authMode === authMode.question && Boolean(answer)
    return isGuess ? this.options.answers.verify(side, check) : check()
  }

  async #requireOpen(tx: Tx, actor: ContactActor, applicantId: Int64): Promise<ContactRequest> {
    const { store, clock } = this.options
    const found = await store.find(tx, { ...actor, applicantId })
    if (!found || !isRequestOpen(found, clock.now()))
      throw new AppError('contact_request_not_found')
    return found
  }
}
