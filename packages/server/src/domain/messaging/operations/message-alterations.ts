import { alterationKind, type Int64 } from '@hermod/protocol'
import type { EventPayloads } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import type { RecordedUpdate } from '../../../outbox/rows/recorded-event.js'
import type { ConversationStore } from '../conversations/conversation-store.js'
import type { ChangeStore } from '../log/change-store.js'
import type { LoggedMessage, MessageStore } from '../log/message-store.js'
import type { AlterationKind } from '../model/change-model.js'
import { type Conversation, readersOf, toEventConversation } from '../model/conversation-model.js'
import { changedFields, type FieldChanges, fieldNames } from '../model/message-fields.js'

export interface MessageAlterationsOptions {
  readonly store: Pick<MessageStore, 'setFields'>
  readonly conversationStore: Pick<ConversationStore, 'countAlterations'>
  readonly changes: Pick<ChangeStore, 'append'>
  readonly outbox: Pick<Outbox, 'append'>
}

/** A change of fields of one message, which was read with its conversation locked. */
export interface FieldChange {
  readonly message: Pick<LoggedMessage, 'messageId' | 'seq' | 'fields'>
  /** Whole fields with their new values, equal for all readers; null removes one. */
  readonly set: FieldChanges
  /** The acting user; 0 = an administrator or the system. */
  readonly actorId: Int64
  /** The reactions that users have added and removed. */
  readonly reacted?: EventPayloads['message.updated']['reacted']
}

/**
 * Gives alterations of stored messages their numbers in the change log (decision page 027). The
 * conversation is locked first, as for a send.
 */
export class MessageAlterations {
  constructor(private readonly options: MessageAlterationsOptions) {}

  /**
   * Changes fields of messages of one conversation; each change has its own number and event. A
   * message is named once.
   * @returns the number of the first one; those of the others follow
   */
  async setFields(
    tx: Tx,
    conversation: Conversation,
    changes: readonly FieldChange[],
  ): Promise<number> {
    const { store, outbox } = this.options
    const altered = changes.map(({ message }) => message)
    await store.setFields(
      tx,
      conversation,
      changes.map(({ message, set }) => ({
        messageId: message.messageId,
        fields: changedFields(message, set),
      })),
    )
    const first = await this.append(tx, conversation, altered, alterationKind.updated)
    outbox.append(
      tx,
      ...changes.map((each, index) => ({
        kind: 'message.updated' as const,
        appId: conversation.appId,
        payload: updateOf(conversation, each),
        change: first + index,
      })),
    )
    return first
  }

  /**
   * Appends alterations of one kind to the change log.
   * @returns the number of the first one; those of the others follow
   */
  async append(
    tx: Tx,
    conversation: Conversation,
    messages: readonly Pick<LoggedMessage, 'messageId' | 'seq'>[],
    kind: AlterationKind,
  ): Promise<number> {
    const { changes, conversationStore } = this.options
    const count = messages.length
    const recalledSeq =
      kind === alterationKind.recalled ? Math.max(...messages.map(({ seq }) => seq)) : null
    const end = await conversationStore.countAlterations(tx, conversation, { count, recalledSeq })
    const first = end.alterations - count + 1
    await changes.append(
      tx,
      conversation,
      messages.map(({ messageId }, index) => ({
        change: end.seq + first + index,
        alteration: first + index,
        messageId,
        kind,
      })),
    )
    return end.seq + first
  }
}

function updateOf(
  conversation: Conversation,
  { message, set, actorId, reacted }: FieldChange,
): RecordedUpdate['payload'] {
  return {
    actor_id: actorId,
    user_ids: conversation.isGroup ? [] : readersOf(conversation),
    conversation: toEventConversation(conversation),
    msg_id: message.messageId,
    seq: message.seq,
    fields: fieldNames(set),
    ...(reacted && { reacted }),
  }
}
