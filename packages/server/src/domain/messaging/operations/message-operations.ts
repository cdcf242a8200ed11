import { AppError, alterationKind, contentType, type Int64, operationType } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { compare } from '../../../lib/compare.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { RecordedEdit } from '../../../outbox/rows/recorded-event.js'
import type { AppService } from '../../apps/app-service.js'
import type { ChargeRows } from '../../charge-rows.js'
import type { GroupMessageRules } from '../../groups/core/group-message-rules.js'
import type { AccountService } from '../../users/account-service.js'
import { systemUserId } from '../../users/system-user.js'
import type { ConversationFinder } from '../conversations/conversation-finder.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { HistoryStore } from '../log/history-store.js'
import type { EditedTexts, LoggedMessage, MessageStore } from '../log/message-store.js'
import {
  broadcastStream,
  type Conversation,
  readersOf,
  toEventConversation,
} from '../model/conversation-model.js'
import { requireSize } from '../model/message-content.js'
import { fieldsOf } from '../model/message-fields.js'
import type { AcknowledgementService } from '../positions/acknowledgement-service.js'
import type { ReaderStore } from '../readers/reader-store.js'
import type { TransactionKey } from '../transactions/transaction-statements.js'
import type { TransactionStore } from '../transactions/transaction-store.js'
import type { MessageAlterations } from './message-alterations.js'
import { type EditKind, editedTexts, editInstant } from './message-edit.js'
import type { MessageRecalls } from './message-recalls.js'

export interface MessageOperationsOptions {
  readonly database: Database
  readonly store: MessageStore
  readonly conversationStore: ConversationStore
  readonly alterations: MessageAlterations
  readonly recalls: Pick<MessageRecalls, 'recall'>
  readonly messageLog: HistoryStore
  readonly readers: ReaderStore
  readonly finder: ConversationFinder
  readonly acknowledgements: AcknowledgementService
  readonly apps: AppService
  readonly accounts: Pick<AccountService, 'lockKeyShare'>
  readonly groupRules: GroupMessageRules
  readonly transactions: TransactionStore
  readonly outbox: Outbox
  readonly clock: Clock
  readonly maxMessageBytes: number
  readonly transactionTtlMs: number
}

/** The acting user, a party of the conversation or a member of the group. */
export interface Actor {
  readonly appId: string
  readonly userId: Int64
  /** True when an Admin token acts for that user. */
  readonly isAdminToken: boolean
}

/** The caller of a recall. An Admin token needs no user in a group and for broadcasts. */
export type RecallCaller = Omit<Actor, 'userId'> & { readonly userId: Int64 | null }

/** A message of content_type 9 to 12, which acts on another one. */
export interface OperationRequest extends EditedTexts {
  readonly contentType: number
  readonly relatedMessageId: Int64 | undefined
  /** The edit of the message that the actor has seen, 0 = none; undefined = not checked */
  readonly seenEdit: Int64 | undefined
  readonly targets: readonly Int64[]
  readonly targetType: 'user' | 'group'
  /** null = repeats are not recognized */
  readonly transactionId: Int64 | null
}

/** The message that an operation is about. */
interface NamedMessage {
  readonly peerId: Int64
  readonly targetType: OperationRequest['targetType']
  readonly messageId: Int64
}

/** A message that the actor may see, with its conversation locked until the transaction ends. */
interface LockedMessage {
  readonly actor: Actor
  readonly conversation: Conversation
  readonly message: LoggedMessage
}

const editKinds: ReadonlyMap<number, EditKind> = new Map([
  [operationType.append, 'append'],
  [operationType.replace, 'replace'],
])

const editEvents = {
  append: 'message.appended',
  replace: 'message.replaced',
} as const satisfies Record<EditKind, RecordedEdit['kind']>

/** Reads, recalls and edits stored messages (rules E7, E8). */
export class MessageOperations {
  constructor(private readonly options: MessageOperationsOptions) {}

  /**
   * Performs the operation of a message of content_type 9 to 12. A repeated transaction ID has no effect.
   * @throws AppError invalid_parameter, user_not_found, group_not_found, member_required,
   *   conversation_not_found, message_not_found, no_permission, message_type_refused,
   *   message_too_large, edited_meanwhile, recall_too_late, recall_disabled; user_deleted when the
   *   actor is deleted concurrently
   */
  async perform(actor: Actor, request: OperationRequest, charge: ChargeRows): Promise<void> {
    const { database, transactions, clock, transactionTtlMs } = this.options
    const { contentType, relatedMessageId: messageId, transactionId, targetType } = request
    const [peerId, ...others] = request.targets
    if (messageId === undefined)
      throw new AppError(
        'invalid_parameter',
        `related_mid is required with content_type ${contentType}`,
      )
    if (peerId === undefined || others.length > 0)
      throw new AppError(
        'invalid_parameter',
        `targets must have exactly 1 item with content_type ${contentType}`,
      )
    const { appId, userId: senderId } = actor
    const key = transactionId === null ? null : { appId, transactionId, senderId }
    if (contentType === operationType.readAck)
      return this.#acknowledge(actor, { peerId, targetType, messageId }, { key, charge })
    const recallSeconds =
      contentType === operationType.recall ? await this.#recallSeconds(actor) : null
    await database.transaction(async (tx) => {
      if (key && !(await transactions.claim(tx, key, clock.now(), transactionTtlMs))) return
      await this.#requireKind(tx, appId, peerId, targetType)
      const editKind = editKinds.get(contentType)
      const locked = await this.#lockForUpdate(tx, actor, peerId, messageId)
      await (editKind
        ? this.#edit(tx, locked, editKind, request)
        : this.#recall(tx, locked, recallSeconds))
    })
  }

  /**
   * Recalls a message for all its readers; the sender within the app's window, owner and admins of
   * a group those of members below them, an Admin token always.
   * @throws AppError conversation_not_found, message_not_found, no_permission, recall_too_late,
   *   recall_disabled, group_not_found, member_required; user_deleted when the caller is deleted
   *   concurrently
   */
  async recall(caller: RecallCaller, peerId: Int64, messageId: Int64): Promise<void> {
    const actor = {
      ...caller,
      userId: caller.userId ?? (await this.#systemIn(caller.appId, peerId, messageId)),
    }
    const recallSeconds = await this.#recallSeconds(actor)
    await this.options.database.transaction(async (tx) =>
      this.#recall(tx, await this.#lockForUpdate(tx, actor, peerId, messageId), recallSeconds),
    )
  }

  /**
   * The system as actor, for messages in groups and broadcasts, which all readers share.
   * @throws AppError invalid_parameter
   */
  async #systemIn(appId: string, peerId: Int64, messageId: Int64): Promise<Int64> {
    const { database, finder, messageLog } = this.options
    const kind = await database.read((db) => finder.kindOf(db, appId, peerId))
    const system = { appId, userId: systemUserId }
    const stream = finder.streamOf(system, peerId)
    const isShared =
      kind === 'group' ||
      (await database.read((db) => messageLog.findSeq(db, stream, messageId))) !== null
    if (!isShared)
      throw new AppError('invalid_parameter', 'header user_id is required with an Admin token')
    return systemUserId
  }

  /**
   * Positions move in batches with those of other callers, so the transaction ID is stored
   * afterwards. Until then a repeat finds the position moved and has no effect either.
   */
  async #acknowledge(
    actor: Actor,
    { peerId, targetType, messageId }: NamedMessage,
    { key, charge }: { readonly key: TransactionKey | null; readonly charge: ChargeRows },
  ): Promise<void> {
    const { database, acknowledgements, transactions, clock, transactionTtlMs } = this.options
    const now = clock.now()
    if (key && (await database.read((db) => transactions.findMessageIds(db, key, now)))) return
    await database.read((db) => this.#requireKind(db, actor.appId, peerId, targetType))
    await acknowledgements.acknowledgeReceipt(actor, { peerId, messageId }, charge)
    if (key) await database.transaction((tx) => transactions.claim(tx, key, now, transactionTtlMs))
  }

  /**
   * Checks that the target has the named type, because users and groups have different rules.
   * @throws AppError user_not_found, group_not_found
   */
  async #requireKind(
    db: Queryable,
    appId: string,
    peerId: Int64,
    targetType: OperationRequest['targetType'],
  ): Promise<void> {
    const kind = await this.options.finder.kindOf(db, appId, peerId)
    if (targetType === 'group' && kind !== 'group') throw new AppError('group_not_found')
    if (targetType === 'user' && kind === 'group') throw new AppError('user_not_found')
  }

  /** The maximum age of a message that the actor recalls; null = recalls are disabled. */
  async #recallSeconds({ appId, isAdminToken }: Actor): Promise<number | null> {
    if (isAdminToken) return Number.POSITIVE_INFINITY
    const { settings } = await this.options.apps.get(appId, 'current')
    return settings.recall_enabled ? settings.recall_seconds : null
  }

  /**
   * Locks the conversation first, as a send does, then finds the message. A deletion of the actor
   * waits for the transaction or precedes it: a deletion locks open direct conversations before the
   * user, and those of groups after the user.
   */
  async #lockForUpdate(
    tx: Tx,
    actor: Actor,
    peerId: Int64,
    messageId: Int64,
  ): Promise<LockedMessage> {
    const { store, conversationStore, finder } = this.options
    const conversation = await finder.get(tx, actor, peerId)
    if (conversation.isGroup) await this.#lockActor(tx, actor)
    await this.#requireMembership(tx, actor, conversation)
    const locked = await conversationStore.lockForUpdate(tx, conversation)
    if (!conversation.isGroup && !locked?.isOpen) await this.#lockActor(tx, actor)
    const message = locked ? await store.find(tx, conversation, messageId) : null
    if (message) return { actor, conversation, message }
    const broadcast = conversation.isGroup
      ? null
      : await this.#lockBroadcastForUpdate(tx, actor, peerId, messageId)
    if (broadcast) return broadcast
    throw new AppError(locked ? 'message_not_found' : 'conversation_not_found')
  }

  /** @throws AppError user_deleted */
  async #lockActor(tx: Tx, { appId, userId }: Actor): Promise<void> {
    if (userId !== systemUserId) await this.options.accounts.lockKeyShare(tx, appId, userId)
  }

  /**
   * Locks a broadcast of either party. Only an Admin token acts on it, because it belongs to all users.
   * @returns null when there are no broadcasts
   * @throws AppError no_permission, message_not_found
   */
  async #lockBroadcastForUpdate(
    tx: Tx,
    actor: Actor,
    peerId: Int64,
    messageId: Int64,
  ): Promise<LockedMessage | null> {
    const { store, conversationStore, finder, messageLog, readers } = this.options
    const { appId, isAdminToken } = actor
    if (!isAdminToken) {
      const stream = finder.streamOf(actor, peerId)
      const positions = await readers.find(tx, stream)
      if (!positions) return null
      const isVisible = messageId > positions.startMessageId
      if (isVisible && (await messageLog.findSeq(tx, stream, messageId)) !== null)
        throw new AppError('no_permission', 'a broadcast is changed with an Admin token only')
      throw new AppError('message_not_found')
    }
    let isThere = false
    for (const senderId of [...new Set([peerId, actor.userId])].sort(compare)) {
      const conversation = broadcastStream(appId, senderId)
      if (!(await conversationStore.lockForUpdate(tx, conversation))) continue
      isThere = true
      const message = await store.find(tx, conversation, messageId)
      if (message) return { actor, conversation, message }
    }
    if (isThere) throw new AppError('message_not_found')
    return null
  }

  async #requireMembership(
    tx: Tx,
    { appId, userId, isAdminToken }: Actor,
    { isGroup, lowId: groupId }: Conversation,
  ): Promise<void> {
    const { groupRules } = this.options
    if (!isGroup) return
    if (isAdminToken) await groupRules.requireGroup(tx, { appId, groupId })
    else await groupRules.requireMember(tx, { appId, groupId }, userId)
  }

  async #recall(tx: Tx, locked: LockedMessage, recallSeconds: number | null): Promise<void> {
    const { recalls, groupRules, clock } = this.options
    const { actor, conversation, message } = locked
    const now = clock.now()
    const isOwn = message.senderId === actor.userId
    const group = { appId: actor.appId, groupId: conversation.lowId }
    if (conversation.isGroup && !isOwn && !actor.isAdminToken)
      await groupRules.requireRecall(tx, group, actor.userId, message.senderId)
    else requireSender(locked)
    if (recallSeconds === null) throw new AppError('recall_disabled')
    // The window applies to the sender only (rule E7). A time to come is a clock that was wrong (rule E3).
    if (isOwn && Math.abs(now - message.sentAt) > recallSeconds * 1_000)
      throw new AppError('recall_too_late')
    await recalls.recall(tx, conversation, [message], { by: responsibleFor(locked), at: now })
  }

  async #edit(
    tx: Tx,
    locked: LockedMessage,
    kind: EditKind,
    edit: OperationRequest,
  ): Promise<void> {
    const { store, alterations, clock, maxMessageBytes } = this.options
    const { conversation, message } = locked
    requireSender(locked)
    // Clients execute a command when it arrives.
    if (message.contentType === contentType.command)
      throw new AppError('message_type_refused', 'a command cannot be edited')
    if (fieldsOf(message).stream?.state === 'open')
      throw new AppError('message_type_refused', 'the message is still being written')
    if (edit.seenEdit !== undefined && edit.seenEdit !== message.editedAt)
      throw new AppError('edited_meanwhile')
    const texts = editedTexts(kind, message, edit)
    requireSize({ ...message, ...texts }, maxMessageBytes)
    await store.edit(tx, conversation, message, {
      ...texts,
      editedAt: editInstant(message, clock.now()),
    })
    const change = await alterations.append(tx, conversation, [message], alterationKind.edited)
    this.options.outbox.append(tx, {
      kind: editEvents[kind],
      appId: conversation.appId,
      payload: aboutMessage(locked),
      change,
    })
  }
}

/** The members of events of edits. */
function aboutMessage(locked: LockedMessage): RecordedEdit['payload'] {
  const { conversation, message } = locked
  return {
    actor_id: responsibleFor(locked),
    user_ids: conversation.isGroup ? [] : readersOf(conversation),
    conversation: toEventConversation(conversation),
    msg_id: message.messageId,
    seq: message.seq,
  }
}

/** @throws AppError no_permission */
function requireSender({ actor, message }: LockedMessage): void {
  if (!actor.isAdminToken && message.senderId !== actor.userId)
    throw new AppError('no_permission', 'only the sender may do this')
}

/** The user recorded for the change: the system when an Admin token changes another user's message. */
function responsibleFor({ actor, message }: LockedMessage): Int64 {
  return actor.isAdminToken && actor.userId !== message.senderId ? systemUserId : actor.userId
}
