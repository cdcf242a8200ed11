import { createHash } from 'node:crypto'
import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { StreamDelivery } from '../../../delivery/stream-delivery.js'
import type { MaybePromise } from '../../../lib/maybe-promise.js'
import type { GroupMessageRules } from '../../groups/core/group-message-rules.js'
import type { AccountService } from '../../users/account-service.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { MessageStore } from '../log/message-store.js'
import {
  type Conversation,
  directConversation,
  groupConversation,
  isParty,
} from '../model/conversation-model.js'
import type { StreamEnd, StreamEnds } from '../operations/stream-ends.js'
import type { ChunkWriter } from '../streams/chunk-writer.js'
import { type Chunk, hasHalfPair, type Stream, type StreamKey } from '../streams/stream-model.js'
import { refusalOf } from '../streams/stream-refusal.js'
import { streamOf, type StreamStore } from '../streams/stream-store.js'
import type { TransientMessages } from '../transient/transient-messages.js'
import type { MessageTarget, RecipientRules } from './recipient-rules.js'
import { type SendingCaller, senderOf } from './sender.js'

export interface StreamServiceOptions {
  readonly database: Database
  readonly accounts: AccountService
  readonly recipients: RecipientRules
  readonly finder: ConversationFinder
  readonly groupRules: GroupMessageRules
  readonly streams: StreamStore
  readonly messages: Pick<MessageStore, 'find'>
  readonly writer: ChunkWriter
  readonly ends: StreamEnds
  /** The outbox, whose last position is read. */
  readonly outbox: { head(db: Queryable, appId: string): MaybePromise<number> }
  readonly deltas: StreamDelivery
  readonly transients: Pick<TransientMessages, 'signalActivity' | 'signalCancel'>
  /** Tests whether the app withholds text from readers until the end of a stream. */
  isReviewed(appId: string): Promise<boolean>
}

/** A piece of text for a message that is being written. */
export interface AppendRequest {
  readonly fromUserId: Int64 | undefined
  readonly target: MessageTarget
  readonly messageId: Int64
  readonly index: number
  readonly text: string
  /** null: the stream stays open */
  readonly end: StreamEnd | null
}

/** The caller who asks to end a stream. */
export interface CancellingCaller {
  readonly appId: string
  /** null for an Admin token that acts for no user. */
  readonly userId: Int64 | null
  readonly isAdminToken: boolean
  /** The group that an admin acts in as a whole; null = acts as a user. */
  readonly adminOf: Int64 | null
}

/** The activity of a user in a conversation. */
export interface ActivityRequest {
  readonly fromUserId: Int64 | undefined
  readonly target: MessageTarget
  readonly state: string
  readonly text: string
}

/** Streams whose place in the outbox is kept. */
const maxKnownStreams = 10_000

/** Appends to messages that are being written, and ends them (rule E19). */
export class StreamService {
  /** For each stream a position of the outbox at or above that of its message. */
  readonly #storedUpTo = new Map<string, number>()

  constructor(private readonly options: StreamServiceOptions) {}

  /**
   * Stores a piece of text, and sends it to connected readers.
   * @throws AppError invalid_parameter, the refusals of a send, message_not_found, stream_refused,
   * message_too_large, too_many_requests, unavailable, storage_failed
   */
  async append(caller: SendingCaller, request: AppendRequest): Promise<Stream> {
    const { accounts, recipients, writer, ends, deltas } = this.options
    const { appId } = caller
    const { target, messageId, end } = request
    const chunk = chunkOf(request)
    const senderId = await senderOf(accounts, caller, request.fromUserId)
    const sender = { userId: senderId, isAdminToken: caller.isAdminToken }
    const refusal = await recipients.refusal(appId, target, sender)
    if (refusal) throw new AppError(refusal)
    const conversation = conversationWith(appId, senderId, target)
    const key = streamOf(conversation, messageId)
    if (end) return ends.end(conversation, messageId, { senderId, chunk, end })
    const after = await this.#storedBy(key)
    const isReviewed = await this.options.isReviewed(appId)
    const outcome = await writer.append({ key, senderId, chunk })
    if (!outcome) throw new AppError('message_not_found')
    const { kind, stream } = outcome
    if (kind !== 'taken' && kind !== 'repeated') throw refusalOf(outcome)
    if (kind === 'taken' && chunk.text !== '' && !isReviewed)
      deltas.appended({
        ...{ conversation, messageId: key.messageId, after },
        index: chunk.index,
        offset: stream.length - chunk.text.length,
        text: chunk.text,
      })
    return stream
  }

  /**
   * Asks the sender to end a stream: either party of a direct conversation; in a group the sender,
   * and owner and admins. Has an effect once, and none after the end.
   * @throws AppError invalid_parameter, conversation_not_found, message_not_found, no_permission,
   * group_not_found, member_required
   */
  async cancel(caller: CancellingCaller, peerId: Int64, messageId: Int64): Promise<void> {
    const { database, finder, streams, messages, transients } = this.options
    const { appId, adminOf } = caller
    const userId = caller.userId ?? 0
    if (caller.userId === null && adminOf === null)
      throw new AppError(
        'invalid_parameter',
        'header user_id or group_id is required with an Admin token',
      )
    const conversation =
      adminOf === null
        ? await database.read((db) => finder.get(db, { appId, userId }, peerId))
        : groupConversation(appId, adminOf)
    const key = streamOf(conversation, messageId)
    const senderId = await database.transaction(async (tx) => {
      const message = await messages.find(tx, conversation, messageId)
      if (conversation.isGroup)
        await this.#requireCancel(tx, caller, conversation, message?.senderId)
      else if (!isParty(conversation, userId)) throw new AppError('conversation_not_found')
      if (!message) throw new AppError('message_not_found')
      return (await streams.cancel(tx, key)) ? message.senderId : null
    })
    if (senderId !== null)
      transients.signalCancel(conversation, { senderId, userId, messageId: key.messageId })
  }

  /**
   * Shows the others what a user does.
   * @throws AppError the refusals of a send
   */
  async showActivity(caller: SendingCaller, request: ActivityRequest): Promise<void> {
    const { accounts, recipients, transients } = this.options
    const { target, state, text } = request
    const senderId = await senderOf(accounts, caller, request.fromUserId)
    const sender = { userId: senderId, isAdminToken: caller.isAdminToken }
    const refusal = await recipients.refusal(caller.appId, target, sender)
    if (refusal) throw new AppError(refusal)
    transients.signalActivity(conversationWith(caller.appId, senderId, target), senderId, {
      state,
      text,
    })
  }

  async #requireCancel(
    tx: Parameters<GroupMessageRules['requireMember']>[0],
    { appId, userId, isAdminToken, adminOf }: CancellingCaller,
    { lowId: groupId }: Conversation,
    senderId: Int64 | undefined,
  ): Promise<void> {
    const { groupRules } = this.options
    const group = { appId, groupId }
    if (isAdminToken || adminOf !== null || userId === null) {
      await groupRules.requireGroup(tx, group)
      return
    }
    await groupRules.requireMember(tx, group, userId)
    if (senderId === undefined) throw new AppError('message_not_found')
    if (senderId !== userId) await groupRules.requireRecall(tx, group, userId, senderId)
  }

  /** A position of the outbox at or above that of the stored message, read once for each stream. */
  async #storedBy(key: StreamKey): Promise<number> {
    const { database, outbox } = this.options
    const name = `${key.appId}/${key.lowId}/${key.highId}/${key.messageId}`
    const known = this.#storedUpTo.get(name)
    if (known !== undefined) return known
    const head = await database.read((db) => outbox.head(db, key.appId))
    if (this.#storedUpTo.size >= maxKnownStreams) this.#storedUpTo.clear()
    this.#storedUpTo.set(name, head)
    return head
  }
}

function conversationWith(
  appId: string,
  senderId: Int64,
  { type, id }: MessageTarget,
): Conversation {
  return type === 'group' ? groupConversation(appId, id) : directConversation(appId, senderId, id)
}

/** @throws AppError invalid_parameter */
function chunkOf({ index, text }: Pick<AppendRequest, 'index' | 'text'>): Chunk {
  if (hasHalfPair(text))
    throw new AppError('invalid_parameter', 'text must not split a surrogate pair')
  const hash = createHash('sha256').update(text).digest('base64url')
  return { index, text, bytes: Buffer.byteLength(text), hash }
}
