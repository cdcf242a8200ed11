import { AppError, type Int64 } from '@hermod/protocol'
import { notice } from '@hermod/protocol/events'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import { type PageRequest, readIdCursor, unknownCursor, writeCursor } from '../../paging.js'
import {
  type Conversation,
  type ConversationView,
  directConversation,
  groupConversation,
  readersOf,
  toEventConversation,
} from '../log/conversation-model.js'
import type { HistoryStore } from '../log/history-store.js'
import type { HistoryMessage } from '../log/message-model.js'
import type { PeerKind, PeerKinds } from '../log/peer-kinds.js'
import type { ConversationStore, Mark, Moved } from './conversation-store.js'
import type { GroupReadService } from './group-read-service.js'
import { type MarkWriter, markEvents } from './mark-writer.js'

export interface ConversationServiceOptions {
  readonly database: Database
  readonly store: ConversationStore
  readonly messageLog: HistoryStore
  readonly kinds: PeerKinds
  readonly marks: MarkWriter
  readonly groupReads: GroupReadService
  readonly groupCache: GroupCache
  readonly outbox: Outbox
}

/** A conversation in which a mark has moved to a message. */
type Receipt = readonly [
  conversation: Moved,
  kind: 'message.read' | 'message.delivered',
  messageId: Int64,
]

interface Reader {
  readonly appId: string
  readonly userId: Int64
}

/** A part of the messages of a conversation. */
export interface HistoryPage {
  readonly conversation: Conversation
  /** Newest first. */
  readonly messages: readonly HistoryMessage[]
  /** First message of the next page; null on the last one. */
  readonly nextMessageId: number | null
}

const maxHistoryPage = 100
const maxConversationPage = 20
/** Errors that a later call makes up for. */
const passingErrors: ReadonlySet<string> = new Set(['storage_failed', 'unavailable'])

/** Reading: history, the list of conversations, unread counts and the marks behind them (rules E5, E6, E8b, E13). */
export class ConversationService {
  constructor(private readonly options: ConversationServiceOptions) {}

  /**
   * @param page.startId the first message of the page, itself included; 0 for the newest
   * @param page.limit clamped to 100
   * @param page.isOnDevice what the page holds reaches a device of the reader (rule E6)
   * @throws AppError user_not_found when nobody has the ID; member_required for a group that the reader is no member of
   */
  async history(
    reader: Reader,
    peerId: Int64,
    page: { startId: Int64; limit: number; isOnDevice: boolean },
  ): Promise<HistoryPage> {
    const { database, messageLog } = this.options
    const limit = Math.min(page.limit, maxHistoryPage)
    const upToId = page.startId === 0 ? Number.MAX_SAFE_INTEGER : page.startId
    const { userId } = reader
    const conversation = await database.read((db) => this.#find(db, reader, peerId))
    if (!conversation) throw new AppError('user_not_found')
    const rows = await database.read((db) =>
      messageLog.page(db, conversation, { userId, upToId, limit: limit + 1 }),
    )
    if (rows.length === 0 && conversation.isGroup) await this.requireMember(reader, peerId)
    const next = rows.length > limit ? rows.pop() : undefined
    const undelivered = page.isOnDevice
      ? rows.find(({ senderId, status }) => senderId !== userId && status === 0)
      : undefined
    if (undelivered) await this.#markDelivered(conversation, userId, undelivered.messageId)
    return { conversation, messages: rows, nextMessageId: next?.messageId ?? null }
  }

  /**
   * Most recent activity first.
   * @param page.cursor of the page before; undefined or '' for the first
   * @param page.limit clamped to 20
   * @returns the cursor of the next page, null on the last one
   * @throws AppError invalid_parameter for an unknown cursor
   */
  async list(
    reader: Reader,
    page: PageRequest,
  ): Promise<{ conversations: readonly ConversationView[]; nextCursor: string | null }> {
    const { database, store } = this.options
    const limit = Math.min(page.limit ?? maxConversationPage, maxConversationPage)
    const rows = await database.read((db) =>
      store.list(db, reader, { beforeId: readListCursor(page.cursor), limit: limit + 1 }),
    )
    const conversations = rows.slice(0, limit)
    const last = conversations.at(-1)
    return {
      conversations,
      nextCursor: rows.length > limit && last ? writeCursor(last.lastMessageId) : null,
    }
  }

  async listUnread(reader: Reader): Promise<{ peerId: Int64; unreadCount: number }[]> {
    const { database, store } = this.options
    return database.read((db) => store.listUnread(db, reader))
  }

  /**
   * Reads up to a message, or everything, of one conversation or of all (rule E5).
   * @throws AppError conversation_not_found, message_not_found
   */
  async acknowledge(
    reader: Reader,
    what: { peerId?: Int64 | undefined; messageId?: Int64 | undefined },
  ): Promise<void> {
    if (what.peerId === undefined && what.messageId === undefined)
      return this.#acknowledgeAll(reader)
    const { database } = this.options
    const conversation = await database.read((db) => this.#findToRead(db, reader, what))
    if (conversation.isGroup)
      await database.transaction((tx) => this.acknowledgeIn(tx, reader, what))
    else await this.#acknowledgeDirect(conversation, reader.userId, what.messageId)
  }

  /** Acknowledges a message to its sender, or in the conversation that holds it: receipts of group messages go to their senders too. */
  async acknowledgeReceipt(tx: Tx, reader: Reader, peerId: Int64, messageId: Int64): Promise<void> {
    const { store, messageLog } = this.options
    const named = await this.findBegun(tx, reader, peerId)
    const isElsewhere = !named.isGroup && (await messageLog.findSeq(tx, named, messageId)) === null
    const holding = isElsewhere ? await store.findByMessage(tx, reader, messageId) : null
    await this.acknowledgeIn(tx, reader, {
      peerId: holding?.isGroup ? holding.lowId : peerId,
      messageId,
    })
  }

  /** As {@link acknowledge} of one conversation, as a part of a transaction. */
  async acknowledgeIn(
    tx: Tx,
    reader: Reader,
    what: { peerId?: Int64 | undefined; messageId?: Int64 | undefined },
  ): Promise<void> {
    const { messageLog } = this.options
    const { messageId } = what
    const conversation = await this.#findToRead(tx, reader, what)
    const seq =
      messageId === undefined ? null : await messageLog.findSeq(tx, conversation, messageId)
    const isUnknown = messageId !== undefined && seq === null
    if (
      !isUnknown &&
      (await this.#move(tx, conversation, reader.userId, 'read_seq', { seq, messageId }))
    )
      return
    if (!(await this.#exists(tx, conversation, reader.userId)))
      throw new AppError('conversation_not_found')
    if (isUnknown) throw new AppError('message_not_found')
  }

  /** @throws AppError conversation_not_found, message_not_found */
  async #findToRead(
    db: Queryable,
    reader: Reader,
    { peerId, messageId }: { peerId?: Int64 | undefined; messageId?: Int64 | undefined },
  ): Promise<Conversation> {
    if (peerId !== undefined) return this.findBegun(db, reader, peerId)
    const holding = await this.options.store.findByMessage(db, reader, messageId as Int64)
    if (!holding) throw new AppError('message_not_found')
    return holding
  }

  async #acknowledgeDirect(
    conversation: Conversation,
    userId: Int64,
    messageId: Int64 | undefined,
  ): Promise<void> {
    const { database, store, messageLog, marks } = this.options
    const seq =
      messageId === undefined
        ? null
        : await database.read((db) => messageLog.findSeq(db, conversation, messageId))
    const isUnknown = messageId !== undefined && seq === null
    if (!isUnknown && (await marks.move(conversation, userId, 'read_seq', { seq, messageId })))
      return
    if (!(await database.read((db) => store.exists(db, conversation))))
      throw new AppError('conversation_not_found')
    if (isUnknown) throw new AppError('message_not_found')
  }

  /** @returns null when nobody ever had the ID */
  async kindOf(db: Queryable, appId: string, peerId: Int64): Promise<PeerKind | null> {
    return this.options.kinds.find(db, appId, peerId)
  }

  /**
   * The conversation of the user that an ID names, with another user or of a group, for what is done to one that has begun.
   * @throws AppError conversation_not_found when nobody ever had the ID
   */
  async findBegun(db: Queryable, reader: Reader, peerId: Int64): Promise<Conversation> {
    const conversation = await this.#find(db, reader, peerId)
    if (!conversation) throw new AppError('conversation_not_found')
    return conversation
  }

  /** Moves a mark and tells of it. @returns false when it did not move */
  async #move(
    tx: Tx,
    conversation: Conversation,
    userId: Int64,
    mark: Mark,
    to: { readonly seq: number | null; readonly messageId: Int64 | undefined },
  ): Promise<boolean> {
    const { store, groupReads } = this.options
    if (conversation.isGroup)
      return groupReads.move(
        tx,
        { appId: conversation.appId, groupId: conversation.lowId, userId },
        mark,
        to,
      )
    const moved = await store.moveMark(tx, conversation, userId, mark, to.seq)
    if (moved)
      this.#tell(tx, userId, [
        [moved, markEvents[mark], Number(to.messageId ?? moved.lastMessageId)],
      ])
    return moved !== null
  }

  async #exists(tx: Tx, conversation: Conversation, userId: Int64): Promise<boolean> {
    const { store, groupReads } = this.options
    if (!(await store.exists(tx, conversation))) return false
    return (
      !conversation.isGroup ||
      groupReads.isMember(tx, { appId: conversation.appId, groupId: conversation.lowId, userId })
    )
  }

  /** Direct conversations first, then groups, some at a time, so that nobody's sends wait long. */
  async #acknowledgeAll(reader: Reader): Promise<void> {
    const { database, store, groupReads } = this.options
    const { appId, userId } = reader
    let isTold = await database.transaction(async (tx) => {
      const moved = await store.markAllRead(tx, reader)
      if (moved.length === 0) return false
      this.#tellAllRead(tx, reader)
      this.#tell(
        tx,
        userId,
        moved.map((each): Receipt => [each, 'message.read', each.lastMessageId]),
      )
      return true
    })
    for (let after: Int64 | null = 0; after !== null; ) {
      const [from, wasTold] = [after, isTold]
      const step = await database.transaction(async (tx) => {
        const moved = await groupReads.moveSome(tx, { appId, userId, afterGroupId: from })
        if (moved.count > 0 && !wasTold) this.#tellAllRead(tx, reader)
        return moved
      })
      isTold ||= step.count > 0
      after = step.nextAfter
    }
  }

  #tellAllRead(tx: Tx, { appId, userId }: Reader): void {
    this.options.outbox.append(
      tx,
      notice('message.read_all', { appId, actorId: userId, userIds: [userId] }),
    )
  }

  /** The page has been read: it is shown also when this cannot be stored, and the next page that is read makes up for it. */
  async #markDelivered(
    conversation: Conversation,
    userId: Int64,
    messageId: number,
  ): Promise<void> {
    const { database, messageLog, marks } = this.options
    try {
      const seq = await database.read((db) => messageLog.findSeqUpTo(db, conversation, messageId))
      if (conversation.isGroup)
        await database.transaction((tx) =>
          this.#move(tx, conversation, userId, 'delivered_seq', { seq, messageId }),
        )
      else await marks.move(conversation, userId, 'delivered_seq', { seq, messageId })
    } catch (error) {
      if (!(error instanceof AppError && passingErrors.has(error.errorName))) throw error
    }
  }

  #tell(tx: Tx, userId: Int64, receipts: readonly Receipt[]): void {
    const events = receipts.map(([conversation, kind, messageId]) => {
      const about = {
        appId: conversation.appId,
        actorId: userId,
        userIds: readersOf(conversation),
      }
      return notice(kind, about, {
        conversation: toEventConversation({ ...conversation, isGroup: false }),
        msg_id: messageId,
      })
    })
    this.options.outbox.append(tx, ...events)
  }

  /**
   * Hides what the conversation holds; the next message brings it back with that message only (rule E13).
   * @throws AppError conversation_not_found
   */
  async delete(reader: Reader, peerId: Int64): Promise<void> {
    const { database, store, groupReads } = this.options
    const { appId, userId } = reader
    const isHidden = await database.transaction(async (tx) => {
      const conversation = await this.findBegun(tx, reader, peerId)
      return conversation.isGroup
        ? groupReads.hide(tx, { appId, groupId: peerId, userId })
        : store.hide(tx, conversation, userId)
    })
    if (!isHidden) throw new AppError('conversation_not_found')
  }

  /** @returns null when nobody ever had the ID */
  async #find(
    db: Queryable,
    { appId, userId }: Reader,
    peerId: Int64,
  ): Promise<Conversation | null> {
    const found = this.options.kinds.find(db, appId, peerId)
    const kind = found instanceof Promise ? await found : found
    if (kind === 'group') return groupConversation(appId, peerId)
    return kind && directConversation(appId, userId, peerId)
  }

  /** @throws AppError member_required */
  async requireMember({ appId, userId }: Reader, groupId: Int64): Promise<void> {
    if (!(await this.options.groupCache.findMember({ appId, groupId }, userId)))
      throw new AppError('member_required')
  }
}

/** @returns exclusive upper bound of the message IDs; a page ends at a message, so 0 is no cursor */
function readListCursor(cursor: string | undefined): number {
  const beforeId = readIdCursor(cursor) ?? Number.MAX_SAFE_INTEGER
  if (beforeId === 0) throw unknownCursor()
  return beforeId
}
