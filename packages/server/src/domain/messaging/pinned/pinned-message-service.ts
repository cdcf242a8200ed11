import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { GroupAccess } from '../../groups/core/group-access.js'
import type { GroupCache } from '../../groups/core/group-cache.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { LoggedMessage, MessageStore } from '../log/message-store.js'
import { type Conversation, readersOf, toEventConversation } from '../model/conversation-model.js'
import { requireAlterable } from '../operations/alterable-message.js'
import type { MessageAlterations } from '../operations/message-alterations.js'
import type { FoundMessage, MessageLookupService } from '../reading/message-lookup-service.js'
import type { RecipientRules } from '../sending/recipient-rules.js'
import type { PinnedMessageStore } from '../log/pinned-message-store.js'

export interface PinnedMessageServiceOptions {
  readonly database: Database
  readonly store: PinnedMessageStore
  readonly messages: Pick<MessageStore, 'find'>
  readonly conversations: Pick<ConversationStore, 'lockForUpdate'>
  readonly alterations: Pick<MessageAlterations, 'setFields'>
  readonly lookup: MessageLookupService
  readonly recipients: Pick<RecipientRules, 'refusal'>
  readonly groupAccess: Pick<GroupAccess, 'read'>
  readonly groupCache: Pick<GroupCache, 'findGroup'>
  readonly outbox: Pick<Outbox, 'append'>
  readonly clock: Clock
}

/** The caller: a user, or an Admin token for a user or a group. */
export interface PinningCaller {
  readonly appId: string
  readonly userId: Int64 | null
  readonly isAdminToken: boolean
  readonly adminOf: Int64 | null
  /** The user, or the system. */
  readonly actorId: Int64
}

/** The most pinned messages of a conversation. */
export const pinsPerConversation = 50

/** Pins messages for all readers of their conversation. */
export class PinnedMessageService {
  constructor(private readonly options: PinnedMessageServiceOptions) {}

  /**
   * Pins a message. A pinned one keeps its place.
   * @throws AppError as reading the message does, message_type_refused, reaction_or_pin_limit_reached,
   * in groups the refusal of the right, and the refusals of a send
   */
  async pin(caller: PinningCaller, peerId: Int64, messageId: Int64): Promise<void> {
    const { store, clock } = this.options
    const { conversation, message } = await this.#find(caller, peerId, messageId)
    await this.#change(conversation, message.messageId, async (tx, found) => {
      if (!found) throw new AppError('message_not_found')
      const pinned = await store.list(tx, conversation)
      if (pinned.some((each) => each.messageId === found.messageId)) return
      if (pinned.length >= pinsPerConversation)
        throw new AppError('reaction_or_pin_limit_reached', 'unpin another message first')
      const at = Math.max(clock.now(), (pinned[0]?.at ?? 0) + 1)
      const pin = { by: caller.actorId, at }
      await store.insert(tx, conversation, { messageId: found.messageId, ...pin })
      await this.#announce(tx, conversation, { caller, message: found, pinned: pin })
    })
  }

  /**
   * Unpins a message, if it is pinned.
   * @throws AppError as reading the message does, message_type_refused, in groups the refusal of the
   * right, and the refusals of a send
   */
  async unpin(caller: PinningCaller, peerId: Int64, messageId: Int64): Promise<void> {
    const { store } = this.options
    const { conversation, message } = await this.#find(caller, peerId, messageId)
    await this.#change(conversation, message.messageId, async (tx, found) => {
      if (found && (await store.delete(tx, conversation, found.messageId)))
        await this.#announce(tx, conversation, { caller, message: found, pinned: null })
    })
  }

  /**
   * Lists the pinned messages that the caller may read, newest pin first.
   * @throws AppError as reading the history does
   */
  async list(caller: PinningCaller, peerId: Int64): Promise<FoundMessage[]> {
    const { database, store, lookup } = this.options
    return lookup.list(caller, peerId, async (conversation) => {
      const pinned = await database.read((db) => store.list(db, conversation))
      return pinned.map(({ messageId }) => messageId)
    })
  }

  /** Finds a message that the caller may read and pin. */
  async #find(caller: PinningCaller, peerId: Int64, messageId: Int64) {
    const { lookup, groupAccess, groupCache, recipients } = this.options
    const found = await lookup.get(caller, peerId, messageId)
    if (!('message' in found)) throw new AppError('message_not_found')
    const { lowId, highId, isGroup } = found.conversation
    const conversation = { appId: caller.appId, lowId, highId, isGroup }
    await requireAlterable(conversation, groupCache)
    if (isGroup) await groupAccess.read(caller, lowId, 'pin', async () => {})
    const target = { type: isGroup ? 'group' : 'user', id: peerId } as const
    const sender = { userId: caller.actorId, isAdminToken: caller.isAdminToken }
    const refusal = await recipients.refusal(caller.appId, target, sender)
    if (refusal) throw new AppError(refusal)
    return { conversation, message: found.message }
  }

  /** Runs a change with the conversation locked. */
  #change(
    conversation: Conversation,
    messageId: number,
    work: (tx: Tx, message: LoggedMessage | null) => Promise<void>,
  ): Promise<void> {
    const { database, conversations, messages } = this.options
    return database.transaction(async (tx) => {
      await conversations.lockForUpdate(tx, conversation)
      await work(tx, await messages.find(tx, conversation, messageId))
    })
  }

  async #announce(
    tx: Tx,
    conversation: Conversation,
    {
      caller: { actorId },
      message,
      pinned,
    }: {
      readonly caller: PinningCaller
      readonly message: LoggedMessage
      readonly pinned: { readonly by: Int64; readonly at: number } | null
    },
  ): Promise<void> {
    const { alterations, outbox } = this.options
    await alterations.setFields(tx, conversation, [{ message, set: { pinned }, actorId }])
    outbox.append(tx, {
      kind: pinned ? 'message.pinned' : 'message.unpinned',
      appId: conversation.appId,
      payload: {
        actor_id: actorId,
        user_ids: conversation.isGroup ? [] : readersOf(conversation),
        conversation: toEventConversation(conversation),
        msg_id: message.messageId,
        seq: message.seq,
      },
    })
  }
}
