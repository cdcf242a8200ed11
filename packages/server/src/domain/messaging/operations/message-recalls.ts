import { alterationKind, type Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { LoggedMessage, MessageStore } from '../log/message-store.js'
import type { PinnedMessageStore } from '../log/pinned-message-store.js'
import type { ReactionStore } from '../log/reaction-store.js'
import { type Conversation, readersOf, toEventConversation } from '../model/conversation-model.js'
import { fieldsOf } from '../model/message-fields.js'
import type { ReceiptRequestStore } from '../positions/receipt-request-store.js'
import { streamOf, type StreamStore } from '../streams/stream-store.js'
import type { MessageAlterations } from './message-alterations.js'

/** Closes the files of recalled messages (rule J3). */
export interface FileWithdrawals {
  withdraw(
    tx: Tx,
    appId: string,
    message: Pick<Conversation, 'lowId' | 'highId'> & LoggedMessage,
  ): Promise<void>
}

export interface MessageRecallsOptions {
  readonly store: Pick<MessageStore, 'recall'>
  readonly streams: Pick<StreamStore, 'endOfGone'>
  readonly alterations: Pick<MessageAlterations, 'append'>
  readonly reactions: Pick<ReactionStore, 'deleteOf'>
  readonly pinnedMessages: Pick<PinnedMessageStore, 'delete'>
  readonly receiptRequests: Pick<ReceiptRequestStore, 'delete'>
  readonly fileWithdrawals: FileWithdrawals
  readonly outbox: Pick<Outbox, 'append'>
}

/** Replaces messages by tombstones, with all rows that belong to them (rule E7). */
export class MessageRecalls {
  constructor(private readonly options: MessageRecallsOptions) {}

  /**
   * Recalls messages of one conversation, which was locked before they were read.
   * @param recall.by the user that tombstones and events name; 0 = the system
   */
  async recall(
    tx: Tx,
    conversation: Conversation,
    messages: readonly LoggedMessage[],
    { by, at }: { readonly by: Int64; readonly at: number },
  ): Promise<void> {
    const { alterations, outbox } = this.options
    for (const message of messages) await this.#replace(tx, conversation, message, { by, at })
    const first = await alterations.append(tx, conversation, messages, alterationKind.recalled)
    outbox.append(
      tx,
      ...messages.map((message, index) => ({
        kind: 'message.recalled' as const,
        appId: conversation.appId,
        payload: {
          actor_id: by,
          user_ids: conversation.isGroup ? [] : readersOf(conversation),
          conversation: toEventConversation(conversation),
          msg_id: message.messageId,
          seq: message.seq,
          sender_id: message.senderId,
          is_system: message.isSystem === 1,
          timestamp: at,
        },
        change: first + index,
      })),
    )
  }

  async #replace(
    tx: Tx,
    conversation: Conversation,
    message: LoggedMessage,
    recall: { readonly by: Int64; readonly at: number },
  ): Promise<void> {
    const { store, streams, reactions, pinnedMessages, receiptRequests, fileWithdrawals } =
      this.options
    const { appId, lowId, highId, isGroup } = conversation
    const { messageId, seq } = message
    await store.recall(tx, conversation, message, recall)
    if (fieldsOf(message).stream) await streams.endOfGone(tx, streamOf(conversation, messageId))
    await fileWithdrawals.withdraw(tx, appId, { ...message, ...conversation })
    if (isGroup) await receiptRequests.delete(tx, { appId, groupId: lowId }, seq)
    if (message.fields === null) return
    await reactions.deleteOf(tx, { appId, lowId, highId, messageId })
    await pinnedMessages.delete(tx, conversation, messageId)
  }
}
