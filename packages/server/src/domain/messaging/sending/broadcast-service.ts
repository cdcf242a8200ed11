import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { type IdGenerator, leadOf } from '../../../lib/ids/ids.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { AccountService } from '../../users/account-service.js'
import { systemUserId } from '../../users/system-user.js'
import {
  type AdvancedConversation,
  advanceConversations,
  advanceRow,
  idsAheadRow,
  setIdsAhead,
} from '../conversations/conversation-statements.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import { insertMessages } from '../log/message-statements.js'
import { broadcastStream, type ConversationKey } from '../model/conversation-model.js'
import { type MessageContent, requireSize } from '../model/message-content.js'
import { type MessageRow, messageRow, rowValue } from '../model/message-model.js'
import { encodeRanges } from '../model/message-ranges.js'
import { type SendingCaller, senderOf } from './sender.js'

/** The lock that orders broadcasts with registrations and deletions of users. */
export interface BroadcastOrder {
  /**
   * Locks the count of users. No other transaction adds or deletes users, or broadcasts, until this
   * one ends.
   */
  lock(tx: Tx, appId: string): Promise<{ readonly users: number; readonly lastBroadcastId: number }>
  /** Counts the users who are programs. */
  countBots(tx: Tx, appId: string): Promise<number>
  /** Requires the lock. */
  noteBroadcast(tx: Tx, appId: string, messageId: number): Promise<void>
}

export interface BroadcastServiceOptions {
  readonly database: Database
  readonly ids: IdGenerator
  readonly accounts: AccountService
  readonly counts: BroadcastOrder
  readonly conversationStore: ConversationStore
  readonly outbox: Outbox
  readonly clock: Clock
  readonly maxMessageBytes: number
}

/** A message to all users. */
export interface BroadcastRequest extends MessageContent {
  readonly fromUserId: Int64 | undefined
}

/** Messages to all users of an app, each stored once (rule E9, decision page 028). */
export class BroadcastService {
  constructor(private readonly options: BroadcastServiceOptions) {}

  /**
   * Sends a message to all users.
   * @returns the number of users without programs, the sender included
   * @throws AppError user_not_found, user_deleted, message_too_large, storage_failed
   */
  async send(caller: SendingCaller, request: BroadcastRequest): Promise<{ users: number }> {
    const { database, accounts, maxMessageBytes } = this.options
    requireSize(request, maxMessageBytes)
    const senderId = await senderOf(accounts, caller, request.fromUserId)
    return database.transaction((tx) => this.#store(tx, caller.appId, senderId, request))
  }

  /**
   * Locks in the order of all transactions: the sender, the count of users, the stream, the head of
   * the outbox.
   */
  async #store(
    tx: Tx,
    appId: string,
    senderId: Int64,
    content: MessageContent,
  ): Promise<{ users: number }> {
    const { ids, accounts, counts, conversationStore, outbox, clock } = this.options
    const stream = broadcastStream(appId, senderId)
    if (senderId !== systemUserId) await accounts.lockKeyShare(tx, appId, senderId)
    const { users, lastBroadcastId } = await counts.lock(tx, appId)
    await conversationStore.lockForUpdate(tx, stream)
    const lastMessageId = await outbox.lock(tx, appId)
    const after = Math.max(lastBroadcastId, lastMessageId)
    const [messageId] = ids.takeReserved(1, after) as [number]
    const draft = { conversation: stream, senderId, senderDeviceSn: 0, isSystem: false }
    const write = { now: clock.now(), transactionId: null }
    const row = messageRow({ ...content, ...draft }, messageId, write)
    const { seq, alterations } = await this.#append(tx, stream, row)
    await counts.noteBroadcast(tx, appId, messageId)
    const range = {
      conversation: stream,
      firstId: messageId,
      lastId: messageId,
      count: 1,
      firstSeq: seq,
      firstChange: seq + alterations,
    }
    outbox.appendBroadcast(tx, appId, messageId, encodeRanges([range]))
    return { users: users - (await counts.countBots(tx, appId)) }
  }

  /**
   * Appends to the stream, to which no other transaction appends while the count of users is locked.
   * @returns the new end of the stream
   */
  async #append(tx: Tx, stream: ConversationKey, row: MessageRow): Promise<AdvancedConversation> {
    const { database } = this.options
    const messageId = rowValue.messageId(row)
    const sentAt = rowValue.sentAt(row)
    const [end] = await database.bulk<AdvancedConversation>(tx, advanceConversations, [
      // The sender has read its own broadcast.
      advanceRow(
        { conversation: stream, count: 1, firstId: messageId, sentAt },
        { senderId: rowValue.senderId(row), last: 1, othersLast: 0 },
      ),
    ])
    if (!end) throw new Error('the broadcasts of a present user are closed')
    rowValue.setSeq(row, end.seq)
    const leadMs = leadOf(messageId, sentAt)
    if (leadMs > end.ids_ahead_ms)
      await database.bulk(tx, setIdsAhead, [idsAheadRow(stream, leadMs)])
    await database.bulk(tx, insertMessages, [row])
    return end
  }
}
