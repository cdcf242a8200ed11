import { AppError, type Int64, messageStatus } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { Paced } from '../../../lib/limits/paced.js'
import { type MaybePromise, thenMaybe } from '../../../lib/maybe-promise.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import type { GroupKey, MemberKey } from '../../groups/core/group-model.js'
import type { ConversationEnd } from '../../groups/membership/group-conversations.js'
import {
  countInPage,
  fitInPage,
  maxPageBytes,
  type PageRequest,
  readIdCursor,
  unknownCursor,
  writeCursor,
} from '../../paging.js'
import type { UserKey } from '../../users/user-model.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import {
  broadcastStream,
  type Conversation,
  type ConversationView,
  directConversation,
  groupConversation,
  peerOf,
} from '../log/conversation-model.js'
import type { HistoryStore } from '../log/history-store.js'
import { textUnits } from '../log/message-content.js'
import type { HistoryMessage } from '../log/message-model.js'
import type { PeerKind, PeerKinds } from '../log/peer-kinds.js'
import type { BroadcastMarkStore } from '../marks/broadcast-mark-store.js'
import type { Broadcasters } from '../marks/broadcasters.js'
import type { KnownReader, MarkWriter } from '../marks/mark-writer.js'

/** The members of groups, as far as they delete conversations. */
export interface HistoriesOfMembers {
  /** Hides what the conversation holds up to its end. @returns false when there is no such member */
  hide(tx: Tx, member: MemberKey, end: ConversationEnd): Promise<boolean>
}

export interface ConversationServiceOptions {
  readonly database: Database
  readonly store: ConversationStore
  readonly messageLog: HistoryStore
  readonly kinds: PeerKinds
  readonly marks: MarkWriter
  readonly members: HistoriesOfMembers
  readonly groupCache: GroupCache
  readonly broadcasters: Broadcasters
  readonly broadcastMarks: BroadcastMarkStore
}

/** A message in what a reader has of a conversation. */
interface Place {
  /** null = the reader has nothing of it */
  readonly known: KnownReader | null
  /** null = it is not there */
  readonly seq: number | null
}

/** A part of the messages of a conversation. */
export interface HistoryPage {
  readonly conversation: Conversation
  /** Newest first. */
  readonly messages: readonly HistoryMessage[]
  /** First message of the next page; null on the last one. */
  readonly nextMessageId: number | null
}

interface HistoryRange {
  /** The newest message that may be in it. */
  readonly upToId: Int64
  readonly limit: number
}

const maxHistoryPage = 100
/** Read at once; a page of 20 and the message after it. */
const messagesPerStep = 21
/** Pages of history may be long. */
const pace = { maxRunning: 64, maxBytesPerTurn: maxPageBytes }
const maxConversationPage = 20
/** Errors that a later call makes up for. */
const passingErrors: ReadonlySet<string> = new Set(['storage_failed', 'unavailable'])

/** Who reads a history. */
export interface HistoryReader {
  readonly appId: string
  /** null with an Admin token that acts for no user. */
  readonly userId: Int64 | null
  /** null when what is read reaches no device. */
  readonly deviceSn: number | null
  /** The group that an admin of it reads; null = read as a user. */
  readonly adminOf: Int64 | null
}

interface HistoryPlace {
  readonly startId: Int64
  readonly limit: number
}

/** Reading: history, the list of conversations, unread counts and the marks behind them (rules E5, E6, E8b, E13). */
export class ConversationService {
  readonly #paced = new Paced(pace)

  constructor(private readonly options: ConversationServiceOptions) {}

  /**
   * What a page holds reaches the device of a reader who has one (rule E6). An admin of a group reads all of it, which no device gets.
   * @param peerId the user or group; for an admin of a group that group, which the pipeline has compared
   * @param page.startId the first message of the page, itself included; 0 for the newest
   * @param page.limit clamped to 100
   * @throws AppError user_not_found when nobody has the ID; member_required for a group that the reader is no member of; group_not_found
   *   for an admin of it; invalid_parameter for neither a user nor an admin of a group
   */
  async history(
    { appId, userId, deviceSn, adminOf }: HistoryReader,
    peerId: Int64,
    page: HistoryPlace,
  ): Promise<HistoryPage> {
    if (adminOf !== null) return this.#historyOfGroup({ appId, groupId: adminOf }, page)
    if (userId === null)
      throw new AppError(
        'invalid_parameter',
        'header user_id or group_id is required with an Admin token',
      )
    return this.#historyOfUser({ appId, userId, isOnDevice: deviceSn !== null }, peerId, page)
  }

  async #historyOfUser(
    reader: UserKey & { readonly isOnDevice: boolean },
    peerId: Int64,
    page: HistoryPlace,
  ): Promise<HistoryPage> {
    const { database, messageLog } = this.options
    const { upToId, limit } = historyRange(page)
    const { userId, isOnDevice } = reader
    const conversation = await database.read((db) => this.#find(db, reader, peerId))
    if (!conversation) throw new AppError('user_not_found')
    const read = (part: Conversation) =>
      this.#readPage({ upToId, limit: limit + 1 }, (range) =>
        database.read((db) => messageLog.page(db, part, { userId, ...range })),
      )
    const stream = await this.#findStream(conversation, userId)
    const [direct, broadcasts] = await Promise.all([
      read(conversation),
      stream === null ? [] : read(stream),
    ])
    const rows = broadcasts.length === 0 ? direct : newestOf(direct, broadcasts)
    if (rows.length === 0 && conversation.isGroup) await this.requireMember(reader, peerId)
    const shown = rows.slice(0, Math.min(limit, countShown(rows)))
    if (isOnDevice) {
      await this.#markDelivered(conversation, userId, shown, direct)
      if (stream) await this.#markDelivered(stream, userId, shown, broadcasts)
    }
    return { conversation, messages: shown, nextMessageId: rows[shown.length]?.messageId ?? null }
  }

  async #historyOfGroup(group: GroupKey, page: HistoryPlace): Promise<HistoryPage> {
    const { database, messageLog, kinds } = this.options
    const { upToId, limit } = historyRange(page)
    const { appId, groupId } = group
    if ((await database.read((db) => kinds.find(db, appId, groupId))) !== 'group')
      throw new AppError('group_not_found')
    const rows = await this.#readPage({ upToId, limit: limit + 1 }, (range) =>
      database.read((db) => messageLog.groupPage(db, group, range)),
    )
    const messages = rows.slice(0, Math.min(limit, countShown(rows)))
    return {
      conversation: groupConversation(appId, groupId),
      messages,
      nextMessageId: rows[messages.length]?.messageId ?? null,
    }
  }

  /** Reads no more than a page may hold, except what the last step brings. */
  #readPage(
    { upToId, limit }: HistoryRange,
    read: (range: HistoryRange) => MaybePromise<HistoryMessage[]>,
  ): MaybePromise<HistoryMessage[]> {
    const step = Math.min(limit, messagesPerStep)
    const found = this.#paced.run(() => read({ upToId, limit: step }), textUnits)
    return thenMaybe(found, (rows) => {
      if (rows.length < step || step === limit || textUnits(rows) > maxPageBytes) return rows
      const last = rows.at(-1)?.messageId ?? 0
      const rest = { upToId: last - 1, limit: limit - rows.length }
      return thenMaybe(this.#readPage(rest, read), (others) => rows.concat(others))
    })
  }

  /**
   * Most recent activity first.
   * @param page.cursor of the page before; undefined or '' for the first
   * @param page.limit clamped to 20
   * @returns the cursor of the next page, null on the last one
   * @throws AppError invalid_parameter for an unknown cursor
   */
  async list(
    reader: UserKey,
    page: PageRequest,
  ): Promise<{ conversations: readonly ConversationView[]; nextCursor: string | null }> {
    const { database, store, broadcasters } = this.options
    const limit = Math.min(page.limit ?? maxConversationPage, maxConversationPage)
    const beforeId = readListCursor(page.cursor)
    const hasBroadcasts = (await broadcasters.find(reader.appId)).size > 0
    const rows = await database.read((db) =>
      store.list(db, reader, { beforeId, limit: limit + 1, hasBroadcasts }),
    )
    const conversations = rows.slice(0, limit)
    const last = conversations.at(-1)
    return {
      conversations,
      nextCursor: rows.length > limit && last ? writeCursor(last.lastMessageId) : null,
    }
  }

  async listUnread(reader: UserKey): Promise<{ peerId: Int64; unreadCount: number }[]> {
    const { database, store, broadcasters } = this.options
    const hasBroadcasts = (await broadcasters.find(reader.appId)).size > 0
    return database.read((db) => store.listUnread(db, reader, { hasBroadcasts }))
  }

  /**
   * Reads up to a message, or everything, of one conversation or of all (rule E5).
   * @throws AppError conversation_not_found, message_not_found, unavailable, storage_failed
   */
  async acknowledge(
    reader: UserKey,
    { peerId, messageId }: { peerId?: Int64 | undefined; messageId?: Int64 | undefined },
  ): Promise<void> {
    const { database, marks } = this.options
    if (peerId !== undefined) {
      const conversation = await database.read((db) => this.findBegun(db, reader, peerId))
      await this.#read(conversation, reader.userId, messageId)
    } else if (messageId !== undefined) {
      const conversation = await this.#findHolding(reader, messageId)
      if (conversation) await this.#read(conversation, reader.userId, messageId)
      else if (!(await this.#isRemoved(reader, messageId))) throw new AppError('message_not_found')
    } else await marks.readAll({ appId: reader.appId, userId: reader.userId })
  }

  /**
   * Acknowledges a message to its sender, or in the conversation that holds it: receipts of group messages go to their senders too.
   * @throws as {@link acknowledge}
   */
  async acknowledgeReceipt(reader: UserKey, peerId: Int64, messageId: Int64): Promise<void> {
    const { database, messageLog } = this.options
    const named = await database.read((db) => this.findBegun(db, reader, peerId))
    const isThere =
      named.isGroup ||
      (await database.read((db) => messageLog.findSeq(db, named, messageId))) !== null
    const holding = isThere ? null : await this.#findHolding(reader, messageId)
    if (!isThere && !holding && (await this.#isRemoved(reader, messageId))) return
    await this.#read(holding?.isGroup ? holding : named, reader.userId, messageId)
  }

  /** Whether it may be a message that is gone because of its age: there is nothing to read of it (rule E14). */
  async #isRemoved(reader: UserKey, messageId: Int64): Promise<boolean> {
    const { database, store } = this.options
    return database.read((db) => store.isRemovedAnywhere(db, reader, messageId))
  }

  /** As {@link #isRemoved}, from one of these. */
  async #isRemovedFrom(places: readonly Place[], messageId: Int64): Promise<boolean> {
    const { database, store } = this.options
    for (const { known } of places)
      if (
        known &&
        (await database.read((db) => store.isRemoved(db, known.conversation, messageId)))
      )
        return true
    return false
  }

  /**
   * Reads the broadcasts of peers up to a message that the reader has sent to them, as it reads the rest of these conversations (rule E5).
   * What cannot be stored is left to the next message or acknowledgement.
   */
  readAnswered(reader: UserKey, peerIds: readonly Int64[], messageId: number): MaybePromise<void> {
    const found = this.options.broadcasters.find(reader.appId)
    if (found instanceof Promise)
      return unlessPassing(async () =>
        this.#readAnswered(reader, peerIds, { messageId, senders: await found }),
      )
    return this.#readAnswered(reader, peerIds, { messageId, senders: found })
  }

  #readAnswered(
    { appId, userId }: UserKey,
    peerIds: readonly Int64[],
    { messageId, senders }: { readonly messageId: number; readonly senders: ReadonlySet<Int64> },
  ): MaybePromise<void> {
    if (senders.size === 0) return
    const answered = peerIds.filter((peerId) => senders.has(peerId))
    if (answered.length === 0) return
    return unlessPassing(async () => {
      await Promise.all(
        answered.map(async (peerId) => {
          const known = await this.options.marks.find(broadcastStream(appId, peerId), userId)
          if (known && isUnread(known))
            await this.#readUpTo({ known, seq: null }, messageId, { isTold: false })
        }),
      )
    })
  }

  async #findHolding(reader: UserKey, messageId: Int64): Promise<Conversation | null> {
    const { database, store, broadcastMarks } = this.options
    const holding = await database.read((db) => store.findByMessage(db, reader, messageId))
    if (holding) return holding
    const senderId = await database.read((db) => broadcastMarks.findSender(db, reader, messageId))
    return senderId === null ? null : directConversation(reader.appId, reader.userId, senderId)
  }

  /** @throws AppError conversation_not_found, message_not_found */
  async #read(
    conversation: Conversation,
    userId: Int64,
    messageId: Int64 | undefined,
  ): Promise<void> {
    const direct = await this.#placeIn(conversation, userId, messageId)
    const isElsewhere = direct.seq === null
    const stream = await this.#findStream(conversation, userId, {
      isExpected: isElsewhere && messageId !== undefined,
      isLikely: isElsewhere,
    })
    const broadcasts = stream && (await this.#placeIn(stream, userId, messageId))
    const places = [direct, broadcasts].filter((place) => place !== null)
    if (messageId === undefined) return this.#readToEnds(conversation, userId, places)
    if (places.every(({ known }) => known === null)) throw new AppError('conversation_not_found')
    const isFound = places.some(({ seq }) => seq !== null)
    if (!isFound && !(await this.#isRemovedFrom(places, messageId)))
      throw new AppError('message_not_found')
    await Promise.all(places.map((place) => this.#readUpTo(place, Number(messageId))))
  }

  /** Where nothing was written yet there is nothing to read. @throws AppError conversation_not_found */
  async #readToEnds(
    conversation: Conversation,
    userId: Int64,
    places: readonly Place[],
  ): Promise<void> {
    const begun = places.flatMap(({ known }) => known ?? [])
    const read = begun.filter(isReceived)
    if (begun.length === 0) return this.#requireParty(conversation, userId)
    await Promise.all(read.map((known) => this.options.marks.move(known, 'read_seq', null)))
  }

  /** Reads the part of a conversation that is not above the message, which may be in its other part. */
  async #readUpTo(
    { known, seq }: Place,
    messageId: number,
    told?: { readonly isTold: boolean },
  ): Promise<void> {
    const { database, messageLog, marks } = this.options
    if (!known || !isReceived(known)) return
    const place =
      seq === null
        ? await database.read((db) => messageLog.findUpTo(db, known.conversation, messageId))
        : { seq, messageId }
    await marks.move(known, 'read_seq', place, told)
  }

  async #placeIn(
    conversation: Conversation,
    userId: Int64,
    messageId: Int64 | undefined,
  ): Promise<Place> {
    const { database, messageLog, marks } = this.options
    const [known, seq] = await Promise.all([
      marks.find(conversation, userId),
      messageId === undefined
        ? null
        : database.read((db) => messageLog.findSeq(db, conversation, messageId)),
    ])
    const isBefore =
      known !== null && 'broadcasts' in known && Number(messageId) <= known.broadcasts.afterId
    return { known, seq: known && !isBefore ? seq : null }
  }

  /**
   * The broadcasts in a conversation, of the other party.
   * @param about.isExpected what is looked for is not elsewhere, so it is not left to a cache whether there are any
   * @param about.isLikely the same, where the app has broadcasts of anybody: reads show those that the cache does not know yet
   * @returns null when there are none
   */
  #findStream(
    { appId, isGroup, ...pair }: Conversation,
    userId: Int64,
    about: { readonly isExpected?: boolean; readonly isLikely?: boolean } = {},
  ): MaybePromise<Conversation | null> {
    if (isGroup) return null
    const senderId = peerOf(pair, userId)
    return thenMaybe(this.options.broadcasters.find(appId), (senders) => {
      const mayBe =
        senders.has(senderId) || about.isExpected || (about.isLikely && senders.size > 0)
      return mayBe ? broadcastStream(appId, senderId) : null
    })
  }

  /** @returns null when nobody ever had the ID */
  async kindOf(db: Queryable, appId: string, peerId: Int64): Promise<PeerKind | null> {
    return this.options.kinds.find(db, appId, peerId)
  }

  /**
   * The conversation of the user that an ID names, with another user or of a group, for what is done to one that has begun.
   * @throws AppError conversation_not_found when nobody ever had the ID
   */
  async findBegun(db: Queryable, reader: UserKey, peerId: Int64): Promise<Conversation> {
    const conversation = await this.#find(db, reader, peerId)
    if (!conversation) throw new AppError('conversation_not_found')
    return conversation
  }

  /** The page has been read: it is shown also when this cannot be stored, and the next page that is read makes up for it. */
  #markDelivered(
    conversation: Conversation,
    userId: Int64,
    shown: readonly HistoryMessage[],
    part: readonly HistoryMessage[],
  ): MaybePromise<void> {
    const { database, messageLog, marks } = this.options
    const undelivered = part.find(
      ({ senderId, status }) => senderId !== userId && status === messageStatus.stored,
    )
    if (!undelivered || !shown.includes(undelivered)) return
    const { messageId } = undelivered
    return unlessPassing(async () => {
      const [known, place] = await Promise.all([
        marks.find(conversation, userId),
        database.read((db) => messageLog.findUpTo(db, conversation, messageId)),
      ])
      if (known) await marks.move(known, 'delivered_seq', place)
    })
  }

  /** @throws AppError conversation_not_found for a group that the user is no member of */
  async #requireParty(
    { appId, isGroup, lowId: groupId }: Conversation,
    userId: Int64,
  ): Promise<void> {
    const isParty =
      !isGroup || (await this.options.groupCache.findMember({ appId, groupId }, userId))
    if (!isParty) throw new AppError('conversation_not_found')
  }

  /**
   * Hides what the conversation has, also when that is nothing; the next message brings it back with that message only (rule E13).
   * @throws AppError conversation_not_found
   */
  async delete(reader: UserKey, peerId: Int64): Promise<void> {
    const { database, store, broadcastMarks } = this.options
    const conversation = await database.read((db) => this.findBegun(db, reader, peerId))
    const isHidden = await database.transaction(async (tx) => {
      if (conversation.isGroup) return this.#hideGroup(tx, reader, peerId)
      const isBegun = await store.hide(tx, conversation, reader.userId)
      return (await broadcastMarks.hide(tx, { ...reader, senderId: peerId })) || isBegun
    })
    if (!isHidden) await this.#requireParty(conversation, reader.userId)
  }

  async #hideGroup(tx: Tx, { appId, userId }: UserKey, groupId: Int64): Promise<boolean> {
    const { store, members } = this.options
    const end = await store.findEnd(tx, { appId, groupId })
    return end.seq > 0 && members.hide(tx, { appId, groupId, userId }, end)
  }

  /** @returns null when nobody ever had the ID */
  #find(
    db: Queryable,
    { appId, userId }: UserKey,
    peerId: Int64,
  ): MaybePromise<Conversation | null> {
    return thenMaybe(this.options.kinds.find(db, appId, peerId), (kind) => {
      if (kind === 'group') return groupConversation(appId, peerId)
      return kind && directConversation(appId, userId, peerId)
    })
  }

  /** @throws AppError member_required */
  async requireMember({ appId, userId }: UserKey, groupId: Int64): Promise<void> {
    if (!(await this.options.groupCache.findMember({ appId, groupId }, userId)))
      throw new AppError('member_required')
  }
}

function historyRange({ startId, limit }: { startId: Int64; limit: number }): HistoryRange {
  return {
    upToId: startId === 0 ? Number.MAX_SAFE_INTEGER : startId,
    limit: Math.min(limit, maxHistoryPage),
  }
}

/** How many of the messages, at the most, make a page. */
function countShown(messages: readonly HistoryMessage[]): number {
  return fitInPage(textUnits(messages)) ? messages.length : countInPage(messages, textsOf)
}

function textsOf({ content, attachment, config, ext }: HistoryMessage): readonly string[] {
  return [content, attachment, config, ext]
}

/** @returns exclusive upper bound of the message IDs; a page ends at a message, so 0 is no cursor */
function readListCursor(cursor: string | undefined): number {
  const beforeId = readIdCursor(cursor) ?? Number.MAX_SAFE_INTEGER
  if (beforeId === 0) throw unknownCursor()
  return beforeId
}

/** Both are by descending message ID, and so is the result. */
function newestOf(a: readonly HistoryMessage[], b: readonly HistoryMessage[]): HistoryMessage[] {
  return [...a, ...b].sort((one, other) => other.messageId - one.messageId)
}

/** Own broadcasts are never unread. */
function isReceived(known: KnownReader): boolean {
  return !('broadcasts' in known) || known.broadcasts.senderId !== known.userId
}

/** Whether there are broadcasts that the user has not read. */
function isUnread(known: KnownReader): boolean {
  return 'broadcasts' in known && known.broadcasts.end > known.broadcasts.at.read_seq
}

/** Does what a later call makes up for when it fails. */
async function unlessPassing(work: () => Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof AppError && passingErrors.has(error.errorName))) throw error
  }
}
