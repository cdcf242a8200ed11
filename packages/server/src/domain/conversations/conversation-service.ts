import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { AccountService } from '../accounts/account-service.js'
import { systemUserId } from '../accounts/user-model.js'
import type { EventKind } from '../events/event-model.js'
import type { EventService } from '../events/event-service.js'
import { type ConversationKey, type ConversationView, directConversation, type HistoryMessage, readersOf } from './conversation-model.js'
import type { ConversationStore, Moved } from './conversation-store.js'
import type { HistoryStore } from './history-store.js'

export interface ConversationServiceOptions {
  readonly database: Database
  readonly store: ConversationStore
  readonly messageLog: HistoryStore
  readonly accounts: AccountService
  readonly events: EventService
}

/** A conversation in which a mark has moved to a message. */
type Receipt = readonly [conversation: Moved, kind: EventKind, messageId: Int64]

interface Reader {
  readonly appId: string
  readonly userId: Int64
}

export interface HistoryPage {
  /** Newest first. */
  readonly messages: readonly HistoryMessage[]
  /** First message of the next page; null on the last one. */
  readonly nextMessageId: number | null
}

const maxHistoryPage = 100
const maxConversationPage = 20
const eventsPerStatement = 1_000

/** Reading: history, the list of conversations, unread counts and the marks behind them (decisions E5, E6, E8b, E13). */
export class ConversationService {
  readonly #options: ConversationServiceOptions

  constructor(options: ConversationServiceOptions) {
    this.#options = options
  }

  /**
   * @param page.startId the first message of the page, itself included; 0 for the newest
   * @param page.limit clamped to 100
   * @param page.isOnDevice what the page holds reaches a device of the reader (decision E6)
   * @throws AppError user_not_found when there is neither a conversation nor such a user
   */
  async history(reader: Reader, peerId: Int64, page: { startId: Int64; limit: number; isOnDevice: boolean }): Promise<HistoryPage> {
    const { database, messageLog } = this.#options
    const conversation = directConversation(reader.appId, reader.userId, peerId)
    const limit = Math.min(page.limit, maxHistoryPage)
    const upToId = page.startId === 0 ? Number.MAX_SAFE_INTEGER : page.startId
    const { userId } = reader
    const rows = await database.read((db) => messageLog.page(db, conversation, { userId, upToId, limit: limit + 1 }))
    if (rows.length === 0) await this.#requirePeer(reader.appId, peerId)
    const next = rows.length > limit ? rows.pop() : undefined
    const undelivered = page.isOnDevice ? rows.find(({ senderId, progress }) => senderId !== userId && progress === 0) : undefined
    if (undelivered) await this.#markDelivered(conversation, userId, undelivered.messageId)
    return {
      messages: rows,
      nextMessageId: next?.messageId ?? null,
    }
  }

  /**
   * Most recent activity first.
   * @param page.cursor of the page before; undefined or '' for the first
   * @param page.limit clamped to 20
   * @returns the cursor of the next page, null on the last one
   * @throws AppError invalid_parameter for a cursor that is none of ours
   */
  async list(
    reader: Reader,
    page: { cursor?: string | undefined; limit?: number | undefined },
  ): Promise<{ conversations: readonly ConversationView[]; nextCursor: string | null }> {
    const { database, store } = this.#options
    const limit = Math.min(page.limit ?? maxConversationPage, maxConversationPage)
    const rows = await database.read((db) => store.list(db, reader, { beforeId: readCursor(page.cursor), limit: limit + 1 }))
    const conversations = rows.slice(0, limit)
    const last = conversations.at(-1)
    return { conversations, nextCursor: rows.length > limit && last ? String(last.lastMessageId) : null }
  }

  async listUnread(reader: Reader): Promise<{ peerId: Int64; unreadCount: number }[]> {
    const { database, store } = this.#options
    return database.read((db) => store.listUnread(db, reader))
  }

  /**
   * Reads up to a message, or everything, of one conversation or of all (decision E5).
   * @throws AppError conversation_not_found, message_not_found
   */
  async acknowledge(reader: Reader, what: { peerId?: Int64 | undefined; messageId?: Int64 | undefined }): Promise<void> {
    await this.#options.database.transaction((tx) => this.acknowledgeIn(tx, reader, what))
  }

  /** As {@link acknowledge}, as a part of a transaction. */
  async acknowledgeIn(tx: Tx, reader: Reader, what: { peerId?: Int64 | undefined; messageId?: Int64 | undefined }): Promise<void> {
    const { store, messageLog } = this.#options
    const { appId, userId } = reader
    const { peerId, messageId } = what
    const named = peerId === undefined ? null : directConversation(appId, userId, peerId)
    if (messageId === undefined && !named) return this.#acknowledgeAll(tx, reader)
    const conversation = named ?? (await store.findByMessage(tx, reader, messageId as Int64))
    if (!conversation) throw new AppError('message_not_found')
    const seq = messageId === undefined ? null : await messageLog.findSeq(tx, conversation, messageId)
    const isUnknown = messageId !== undefined && seq === null
    const moved = isUnknown ? null : await store.moveMark(tx, conversation, userId, 'read_seq', seq)
    if (moved) await this.#tell(tx, userId, [[moved, 'message.read', messageId ?? moved.lastMessageId]])
    else if (!(await store.exists(tx, conversation))) throw new AppError('conversation_not_found')
    else if (isUnknown) throw new AppError('message_not_found')
  }

  async #acknowledgeAll(tx: Tx, reader: Reader): Promise<void> {
    const { store, events } = this.#options
    const { appId, userId } = reader
    const moved = await store.markAllRead(tx, reader)
    if (moved.length === 0) return
    await events.append(tx, { appId, kind: 'message.read_all', actorId: userId, userIds: [userId], content: '' })
    const receipts = moved.map((each): Receipt => [each, 'message.read', each.lastMessageId])
    for (let start = 0; start < receipts.length; start += eventsPerStatement)
      await this.#tell(tx, userId, receipts.slice(start, start + eventsPerStatement))
  }

  /** The page has been read: it is shown also when this cannot be stored, and the next page that is read makes up for it. */
  async #markDelivered(conversation: ConversationKey, userId: Int64, messageId: number): Promise<void> {
    const { database, store, messageLog } = this.#options
    try {
      await database.transaction(async (tx) => {
        const seq = await messageLog.findSeqUpTo(tx, conversation, messageId)
        const moved = await store.moveMark(tx, conversation, userId, 'delivered_seq', seq)
        if (moved) await this.#tell(tx, userId, [[moved, 'message.delivered', messageId]])
      })
    } catch (error) {
      if (!(error instanceof AppError && error.errorName === 'storage_failed')) throw error
    }
  }

  async #tell(tx: Tx, userId: Int64, receipts: readonly Receipt[]): Promise<void> {
    const events = receipts.map(([conversation, kind, messageId]) => {
      const parties = [conversation.lowId, conversation.highId].map(Number)
      const content = JSON.stringify({ msg_id: messageId, parties })
      return { appId: conversation.appId, kind, actorId: userId, userIds: readersOf(conversation), content }
    })
    await this.#options.events.append(tx, ...events)
  }

  /**
   * Hides what the conversation holds; the next message brings it back with that message only (decision E13).
   * @throws AppError conversation_not_found
   */
  async delete(reader: Reader, peerId: Int64): Promise<void> {
    const { database, store } = this.#options
    const conversation = directConversation(reader.appId, reader.userId, peerId)
    if (!(await database.transaction((tx) => store.hide(tx, conversation, reader.userId)))) throw new AppError('conversation_not_found')
  }

  /** A conversation that has not begun is empty, but only with somebody who exists. */
  async #requirePeer(appId: string, peerId: Int64): Promise<void> {
    if (peerId === systemUserId) return
    if (!(await this.#options.accounts.findState(appId, peerId))) throw new AppError('user_not_found')
  }
}

function readCursor(cursor: string | undefined): number {
  if (cursor === undefined || cursor === '') return Number.MAX_SAFE_INTEGER
  if (!/^[1-9]\d{0,15}$/.test(cursor)) throw new AppError('invalid_parameter', 'cursor must be one that a page before has returned')
  return Number(cursor)
}
