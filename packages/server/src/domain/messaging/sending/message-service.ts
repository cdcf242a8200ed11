import {
  AppError,
  contentType as contentTypes,
  type ErrorName,
  type Int64,
  operationType,
} from '@hermod/protocol'
import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import type { ChargeRows } from '../../charge-rows.js'
import type { MessageRules } from '../../contacts/message-rules.js'
import type { GroupMessageRules } from '../../groups/core/group-message-rules.js'
import type { AccountService } from '../../users/account-service.js'
import { systemUserId } from '../../users/system-user.js'
import { directConversation, groupConversation } from '../model/conversation-model.js'
import { type MessageContent, requireSize, typingStateOf } from '../model/message-content.js'
import type { ReplyTo } from '../model/message-model.js'
import type { MessageOperations, OperationRequest } from '../operations/message-operations.js'
import type { StreamKind } from '../model/message-model.js'
import type { StreamStore } from '../streams/stream-store.js'
import type { UserKey, UserState } from '../../users/user-model.js'
import type { AcknowledgementService } from '../positions/acknowledgement-service.js'
import type { TransactionStore } from '../transactions/transaction-store.js'
import type { TransientDraft, TransientMessages } from '../transient/transient-messages.js'
import type { TypingState } from '../transient/signals.js'
import { configOf } from './message-config.js'
import type { MessageWriter } from './message-writer.js'
import type { MessageTarget, RecipientRules, SendRefusal } from './recipient-rules.js'
import type { ReplyRules } from './reply-rules.js'
import { type SendingCaller, senderOf } from './sender.js'

export interface MessageServiceOptions {
  readonly database: Database
  readonly transactions: TransactionStore
  readonly clock: Clock
  readonly accounts: AccountService
  readonly recipients: RecipientRules
  readonly rules: MessageRules
  readonly groupRules: GroupMessageRules
  readonly replies: ReplyRules
  readonly writer: MessageWriter
  readonly operations: MessageOperations
  readonly ids: IdGenerator
  readonly transients: TransientMessages
  readonly maxMessageBytes: number
  readonly maxTargets: number
  readonly streams: Pick<StreamStore, 'countOpen'>
  /** Open streams of one sender. */
  readonly maxOpenStreams: { readonly user: number; readonly bot: number }
  readonly acknowledgements: Pick<AcknowledgementService, 'readAnswered'>
}

/** A message and its targets, as one call sends them. */
export interface SendRequest extends Omit<MessageContent, 'content'> {
  /** undefined = omitted, which is allowed for some messages only (rule E8a) */
  readonly content: string | undefined
  readonly fromUserId: Int64 | undefined
  readonly targets: readonly Int64[]
  readonly targetType: 'user' | 'group'
  readonly onlineOnly: boolean
  /** null = repeats are not recognized */
  readonly transactionId: Int64 | null
  readonly isSystem: boolean
  /** The kind of the stream that the message begins; undefined: none. */
  readonly stream: StreamKind | undefined
  /** The message on which one of content_type 9 to 12 acts. */
  readonly relatedMessageId: Int64 | undefined
  /** The `edit_timestamp` that the sender of an edit has seen; undefined = not checked. */
  readonly seenEdit: Int64 | undefined
  /** The message that it replies to. */
  readonly replyToId?: Int64 | undefined
}

/** The result of a send to one or more targets. */
export interface SentMessages {
  /** Empty unless there is exactly one recipient. */
  readonly messageIds: readonly number[]
  /** In the order of the targets (rule E11). */
  readonly refused: readonly { readonly target: Int64; readonly error: ErrorName }[]
}

/** Checks sends (rules C5, E8a, E10 to E12) and passes messages to the writer. */
export class MessageService {
  constructor(private readonly options: MessageServiceOptions) {}

  /**
   * Checks each target separately and stores the message for those that accept it. A content_type
   * from 9 up stores no message but acts on another one; see MessageOperations.perform.
   *
   * @returns the message ID when there is exactly one recipient, and the targets that refused the message
   * @throws AppError the first refusal when all targets refuse the message, invalid_parameter,
   * message_too_large, storage_failed
   */
  async send(
    caller: SendingCaller,
    request: SendRequest,
    charge: ChargeRows,
  ): Promise<SentMessages> {
    const { accounts, recipients, replies } = this.options
    const { appId } = caller
    const { targetType: type } = request
    const targets = request.targets.length === 1 ? request.targets : [...new Set(request.targets)]
    const content = this.#content(request, targets)
    const senderId = await senderOf(accounts, caller, request.fromUserId)
    if (content.contentType >= operationType.readAck) {
      await this.#operate(caller, senderId, { ...request, ...content, targets }, charge)
      return { messageIds: [], refused: [] }
    }
    if (request.stream !== undefined)
      await this.#requireStream({ appId, userId: senderId }, request, targets)
    const sender = { userId: senderId, isAdminToken: caller.isAdminToken }
    const originals = new Map<Int64, ReplyTo>()
    const { replyToId } = request
    const isReply = replyToId !== undefined && content.contentType !== contentTypes.forward
    const refusalOf = async (target: Int64) => {
      const refusal = await recipients.refusal(appId, { type, id: target }, sender)
      if (refusal !== null || !isReply) return refusal
      const conversation = conversationWith(appId, senderId, { type, id: target })
      const found = await replies.find({ appId, userId: senderId }, conversation, replyToId)
      if (typeof found === 'string') return found
      originals.set(target, found)
      return null
    }
    // Asked for together, so that the database is asked once.
    const isDirect = type === 'user' && senderId !== systemUserId
    const [author, ...refusals] = await Promise.all([
      isDirect ? accounts.findState(appId, senderId) : null,
      ...targets.map(refusalOf),
    ])
    const firstRefusal = refusals.find((refusal) => refusal !== null) ?? null
    const accepted =
      firstRefusal === null ? targets : targets.filter((_, index) => refusals[index] === null)
    const refused = firstRefusal === null ? noRefusals : refusedOf(targets, refusals)
    // A repeat succeeds even when all targets refuse the message by now (rule E4).
    const messageIds =
      firstRefusal === null || accepted.length > 0
        ? await this.#deliver(
            caller,
            senderId,
            accepted,
            { ...request, originals, author },
            content,
          )
        : await this.#findSent(appId, senderId, request)
    if (messageIds === null) throw new AppError(firstRefusal ?? 'user_not_found')
    const isOne = targets.length === 1 && messageIds.length === 1
    return { messageIds: isOne ? messageIds : [], refused }
  }

  /**
   * Checks a send that begins a stream (rule E19).
   * @throws AppError message_type_refused, invalid_parameter, too_many_requests
   */
  async #requireStream(
    sender: UserKey,
    { contentType, onlineOnly, transactionId }: SendRequest,
    targets: readonly Int64[],
  ): Promise<void> {
    const { database, accounts, streams, maxOpenStreams } = this.options
    if (sender.userId === systemUserId)
      throw new AppError('message_type_refused', 'the system writes no streams')
    if (targets.length !== 1 || contentType !== contentTypes.text || onlineOnly)
      throw new AppError(
        'invalid_parameter',
        'stream needs exactly 1 target, content_type 0 and no online_only',
      )
    const state = await accounts.findState(sender.appId, sender.userId)
    const most = state?.isBot ? maxOpenStreams.bot : maxOpenStreams.user
    if ((await database.read((db) => streams.countOpen(db, sender))) < most) return
    // A repeat begins none.
    if ((await this.#findSent(sender.appId, sender.userId, { transactionId })) === null)
      throw new AppError('too_many_requests', `this sender has at most ${most} open streams`, {
        retryAfterSeconds: 1,
      })
  }

  async #operate(
    caller: SendingCaller,
    senderId: Int64,
    request: OperationRequest & SendRequest,
    charge: ChargeRows,
  ): Promise<void> {
    const { operations } = this.options
    const { appId } = caller
    const { contentType, targetType, targets } = request
    // An edit is new content, so a user who refuses messages of the sender refuses edits too.
    const peerId =
      !caller.isAdminToken && contentType >= operationType.append && targets.length === 1
        ? targets[0]
        : undefined
    const refusal =
      peerId === undefined ? null : await this.#editRefusal(appId, peerId, targetType, senderId)
    if (refusal && (await this.#findSent(appId, senderId, request)) === null)
      throw new AppError(refusal)
    const actor = { appId, userId: senderId, isAdminToken: caller.isAdminToken }
    await operations.perform(actor, request, charge)
  }

  /**
   * The reason why the target refuses edits of the sender, or null. Ignores missing targets, which
   * finding the message reports.
   */
  async #editRefusal(
    appId: string,
    target: Int64,
    type: SendRequest['targetType'],
    senderId: Int64,
  ): Promise<ErrorName | null> {
    const { accounts, rules, groupRules } = this.options
    if (type === 'group') return groupRules.refusal({ appId, groupId: target }, senderId, false)
    const recipient = await accounts.findState(appId, target)
    return recipient && rules.refusal(recipient, senderId)
  }

  async #findSent(
    appId: string,
    senderId: Int64,
    {
      transactionId,
      onlineOnly = false,
    }: { readonly transactionId: Int64 | null; readonly onlineOnly?: boolean },
  ): Promise<readonly number[] | null> {
    const { database, transactions, clock } = this.options
    if (transactionId === null || onlineOnly) return null
    return database.read((db) =>
      transactions.findMessageIds(db, { appId, transactionId, senderId }, clock.now()),
    )
  }

  async #deliver(
    caller: SendingCaller,
    senderId: Int64,
    recipients: readonly Int64[],
    {
      onlineOnly,
      transactionId,
      isSystem,
      targetType,
      stream,
      originals,
      author,
    }: SendRequest & {
      readonly originals: ReadonlyMap<Int64, ReplyTo>
      /** null: the system, and in groups */
      readonly author: UserState | null
    },
    message: MessageContent,
  ): Promise<readonly number[]> {
    const { writer, acknowledgements, rules } = this.options
    const { appId } = caller
    const { contentType, content, attachment, config, ext } = message
    const senderDeviceSn = caller.deviceSn ?? 0
    const isGroup = targetType === 'group'
    const drafts = recipients.map(
      (recipient): TransientDraft => ({
        conversation: conversationWith(appId, senderId, { type: targetType, id: recipient }),
        senderId,
        senderDeviceSn,
        contentType,
        content,
        attachment,
        config,
        ext,
        isSystem,
        replyTo: originals.get(recipient),
        stream,
      }),
    )
    const typing = isSystem ? null : typingStateOf(message)
    // Transient messages are not stored, so repeats are not recognized.
    if (typing !== null) return this.#sendTransient(drafts, typing)
    if (author?.hasUnasked) await rules.acceptWrittenTo(author, recipients)
    if (onlineOnly) return this.#sendTransient(drafts, typing)
    const groups = isGroup ? await this.#receiptRequests(appId, recipients, config) : undefined
    const messageIds = await writer.write({ transactionId, drafts, groups })
    if (!isGroup && !isSystem && senderId !== systemUserId) {
      const reader = { appId, userId: senderId }
      await acknowledgements.readAnswered(reader, recipients, newestIdOf(messageIds))
    }
    return messageIds
  }

  async #sendTransient(
    drafts: readonly TransientDraft[],
    typing: TypingState | null,
  ): Promise<readonly number[]> {
    const { ids, transients } = this.options
    const messageIds = await ids.take(drafts.length)
    for (const [index, draft] of drafts.entries())
      if (typing === null) transients.send(draft, messageIds[index] ?? 0)
      else transients.signalTyping(draft.conversation, draft.senderId, typing)
    return messageIds
  }

  /** For each group the members with a requested read receipt, as in receipt_requests. */
  async #receiptRequests(
    appId: string,
    groupIds: readonly Int64[],
    config: string,
  ): Promise<readonly string[]> {
    const { groupMemberList } = configOf(config)
    if (groupMemberList.size === 0) return groupIds.map(() => '')
    const memberIds = `,${[...groupMemberList].join(',')},`
    return Promise.all(
      groupIds.map(async (groupId) =>
        (await this.options.groupRules.hasReadAck({ appId, groupId })) ? memberIds : '',
      ),
    )
  }

  /** @throws AppError invalid_parameter, message_too_large */
  #content(request: SendRequest, targets: readonly Int64[]): MessageContent {
    const { maxMessageBytes, maxTargets } = this.options
    const { contentType, attachment, config, ext } = request
    if (targets.length > maxTargets)
      throw new AppError('invalid_parameter', `targets must have at most ${maxTargets} items`)
    if (request.replyToId !== undefined && request.onlineOnly)
      throw new AppError('invalid_parameter', 'reply_to is for messages that are stored')
    if (request.replyToId !== undefined && contentType >= operationType.readAck)
      throw new AppError('invalid_parameter', 'reply_to is for new messages')
    const mayBeWithoutContent = attachment !== '' || contentType >= operationType.readAck
    if (request.content === undefined && !mayBeWithoutContent)
      throw new AppError('invalid_parameter', 'content is required')
    const message = { contentType, content: request.content ?? '', attachment, config, ext }
    requireSize(message, maxMessageBytes)
    return message
  }
}

function conversationWith(appId: string, senderId: Int64, { type, id }: MessageTarget) {
  return type === 'group' ? groupConversation(appId, id) : directConversation(appId, senderId, id)
}

const noRefusals: SentMessages['refused'] = []

function refusedOf(
  targets: readonly Int64[],
  refusals: readonly SendRefusal[],
): SentMessages['refused'] {
  return targets.flatMap((target, index) => {
    const error = refusals[index]
    return error ? [{ target, error }] : []
  })
}

function newestIdOf(messageIds: readonly number[]): number {
  return messageIds.reduce((last, id) => Math.max(last, id), 0)
}
