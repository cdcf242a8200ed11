import { AppError, type Int64 } from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { ChargeRows } from '../../charge-rows.js'
import type { UserKey } from '../../users/user-model.js'
import type { BroadcastSenders } from '../conversations/broadcast-senders.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { ReadableLog } from '../conversations/readable-log.js'
import type { HistoryStore } from '../log/history-store.js'
import { directConversation, isBroadcastStream } from '../model/conversation-model.js'
import type { ConversationListStore } from '../readers/conversation-list-store.js'
import type { KnownReader, PositionWriter } from './position-writer.js'
import { ignoreTransientErrors } from './transient-errors.js'

export interface AcknowledgementServiceOptions {
  readonly database: Database
  readonly finder: ConversationFinder
  readonly store: ConversationStore
  readonly lists: ConversationListStore
  readonly messageLog: HistoryStore
  readonly positions: PositionWriter
  readonly broadcastSenders: BroadcastSenders
  readonly outbox: Pick<Outbox, 'lastMessageId'>
}

/** A message in one part of a conversation: its direct messages, or the broadcasts of the other party. */
interface PartPlace {
  /** null = the part has no messages for the reader. */
  readonly reader: KnownReader | null
  /** null = the part does not contain the message. */
  readonly seq: number | null
}

/** Moves read positions for callers who acknowledge messages (rule E5). */
export class AcknowledgementService {
  constructor(private readonly options: AcknowledgementServiceOptions) {}

  /**
   * Reads one conversation, or all, up to a message or to the end (rule E5).
   * @throws AppError conversation_not_found, message_not_found, unavailable, storage_failed
   */
  async acknowledge(
    user: UserKey,
    { peerId, messageId }: { peerId?: Int64 | undefined; messageId?: Int64 | undefined },
    charge: ChargeRows,
  ): Promise<void> {
    const { database, finder, positions } = this.options
    if (peerId !== undefined) {
      await this.#read(await database.read((db) => finder.getReadable(db, user, peerId)), messageId)
    } else if (messageId !== undefined) {
      const holding = await this.#findHolding(user, messageId, charge)
      if (holding) await this.#read(holding, messageId)
      else if (!(await this.#isRemoved(user, messageId, charge)))
        throw new AppError('message_not_found')
    } else {
      await this.#charge(user, charge)
      await positions.readAll({ appId: user.appId, userId: user.userId })
    }
  }

  /**
   * Acknowledges a message to its sender, or in the conversation that holds it: receipts of group
   * messages are sent to their senders.
   * @throws as {@link acknowledge}
   */
  async acknowledgeReceipt(
    user: UserKey,
    { peerId, messageId }: { readonly peerId: Int64; readonly messageId: Int64 },
    charge: ChargeRows,
  ): Promise<void> {
    const { database, finder, messageLog } = this.options
    const named = await database.read((db) => finder.getReadable(db, user, peerId))
    const isThere =
      named.isGroup ||
      (await database.read((db) => messageLog.findSeq(db, named, messageId))) !== null
    const holding = isThere ? null : await this.#findHolding(user, messageId, charge)
    if (!isThere && !holding && (await this.#isRemoved(user, messageId, charge))) return
    await this.#read(holding?.isGroup ? holding : named, messageId)
  }

  /**
   * Reads the broadcasts of peers up to a message that the user has sent to them, since sending
   * reads the conversation (rule E5). A transient failure is left to the next message or
   * acknowledgement.
   */
  async readAnswered(user: UserKey, peerIds: readonly Int64[], messageId: number): Promise<void> {
    const { broadcastSenders, finder, positions } = this.options
    await ignoreTransientErrors(async () => {
      const senders = await broadcastSenders.find(user.appId)
      if (senders.size === 0) return
      const answered = peerIds.filter((peerId) => senders.has(peerId))
      await Promise.all(
        answered.map(async (peerId) => {
          const reader = await positions.find(finder.streamOf(user, peerId))
          if (reader && reader.positions.end > reader.positions.at.read_seq)
            await this.#readUpTo({ reader, seq: null }, messageId)
        }),
      )
    })
  }

  /**
   * Removed messages need no acknowledgement (rule E14). Their IDs cannot be told from IDs that
   * were never given.
   */
  async #isRemoved(user: UserKey, messageId: Int64, charge: ChargeRows): Promise<boolean> {
    const { database, lists } = this.options
    if (await this.#isAboveAll(user, messageId)) return false
    await this.#charge(user, charge)
    return database.read((db) => lists.hasRemoved(db, user, messageId))
  }

  async #isRemovedFrom(parts: readonly PartPlace[], messageId: Int64): Promise<boolean> {
    const { database, store } = this.options
    for (const { reader } of parts)
      if (
        reader &&
        (await database.read((db) => store.isRemoved(db, reader.conversation, messageId)))
      )
        return true
    return false
  }

  /** Walks over the conversations of the user, because the ID does not name the conversation. */
  async #findHolding(
    user: UserKey,
    messageId: Int64,
    charge: ChargeRows,
  ): Promise<ReadableLog | null> {
    const { database, finder, lists } = this.options
    if (await this.#isAboveAll(user, messageId)) return null
    await this.#charge(user, charge)
    const holding = await database.read((db) => lists.findByMessage(db, user, messageId))
    if (!holding) return null
    const named = isBroadcastStream(holding)
      ? directConversation(user.appId, user.userId, holding.highId)
      : holding
    return database.read((db) => finder.findReadable(db, user, named))
  }

  /** Tests for an ID that no message of the app has. */
  async #isAboveAll({ appId }: UserKey, messageId: Int64): Promise<boolean> {
    return messageId > (await this.options.outbox.lastMessageId(appId))
  }

  /** Charges a walk over all conversations of the user. */
  async #charge(user: UserKey, charge: ChargeRows): Promise<void> {
    const { database, lists } = this.options
    charge(await database.read((db) => lists.count(db, user)))
  }

  /** @throws AppError conversation_not_found, message_not_found */
  async #read(log: ReadableLog, messageId: Int64 | undefined): Promise<void> {
    const direct = await this.#placeIn(log, messageId)
    const isElsewhere = direct.seq === null
    const stream = await this.options.finder.findStream(log, {
      mustLook: isElsewhere && messageId !== undefined,
      isLikely: isElsewhere,
    })
    const broadcasts = stream && (await this.#placeIn(stream, messageId))
    const parts = [direct, broadcasts].filter((part) => part !== null)
    if (messageId === undefined) return this.#readToEnds(parts)
    if (parts.every(({ reader }) => reader === null)) throw new AppError('conversation_not_found')
    const isFound = parts.some(({ seq }) => seq !== null)
    if (!isFound && !(await this.#isRemovedFrom(parts, messageId)))
      throw new AppError('message_not_found')
    await Promise.all(parts.map((part) => this.#readUpTo(part, Number(messageId))))
  }

  async #readToEnds(parts: readonly PartPlace[]): Promise<void> {
    const { positions } = this.options
    const readers = parts.flatMap(({ reader }) => reader ?? [])
    await Promise.all(
      readers.filter(receivesMessages).map((reader) => positions.move(reader, 'read_seq', null)),
    )
  }

  /** Reads one part of a conversation up to the message, which the other part may contain. */
  async #readUpTo({ reader, seq }: PartPlace, messageId: number): Promise<void> {
    const { database, messageLog, positions } = this.options
    if (!reader || !receivesMessages(reader)) return
    const position =
      seq === null
        ? await database.read((db) => messageLog.findUpTo(db, reader.conversation, messageId))
        : { seq, messageId }
    await positions.move(reader, 'read_seq', position)
  }

  async #placeIn(log: ReadableLog, messageId: Int64 | undefined): Promise<PartPlace> {
    const { database, messageLog, positions } = this.options
    const [reader, seq] = await Promise.all([
      positions.find(log),
      messageId === undefined
        ? null
        : database.read((db) => messageLog.findSeq(db, log, messageId)),
    ])
    const isReadable = reader !== null && Number(messageId) > reader.positions.startMessageId
    return { reader, seq: isReadable ? seq : null }
  }
}

/** False for senders as readers of their own broadcasts, which are never unread. */
function receivesMessages({ conversation, userId }: KnownReader): boolean {
  return !isBroadcastStream(conversation) || conversation.highId !== userId
}
