import type { Int64 } from '@hermod/protocol'
import type { TransientEvent } from '@hermod/protocol/events'
import type { TransientDelivery } from '../../../delivery/transient-delivery.js'
import type { Clock } from '../../../lib/clock.js'
import { type Conversation, readersOf, toEventConversation } from '../model/conversation-model.js'
import type { MessageDraft } from '../model/message-model.js'
import { TypingSignals, type TypingState } from './typing-signals.js'

export interface TransientMessagesOptions {
  readonly transient: Pick<TransientDelivery, 'toGroup' | 'toUsers'>
  readonly clock: Clock
}

/** A message that is not stored. */
export type TransientDraft = MessageDraft & { readonly conversation: Conversation }

/**
 * Sends what is never stored to connected devices of the others: messages with online_only, and
 * typing signals (rules E8a, E10).
 */
export class TransientMessages {
  readonly #typing: TypingSignals

  constructor(private readonly options: TransientMessagesOptions) {
    this.#typing = new TypingSignals({
      send: (conversation, userId, state) =>
        this.#toOthers(conversation, userId, {
          kind: 'typing',
          data: { conversation: toEventConversation(conversation), user_id: userId, state },
        }),
    })
  }

  send(draft: TransientDraft, messageId: number): void {
    const { conversation, senderId } = draft
    this.#toOthers(conversation, senderId, {
      kind: 'message.transient',
      data: {
        conversation: toEventConversation(conversation),
        msg_id: messageId,
        sender_id: senderId,
        sender_device_sn: draft.senderDeviceSn,
        content_type: draft.contentType,
        content: draft.content,
        attachment: draft.attachment,
        config: draft.config,
        ext: draft.ext,
        is_system: draft.isSystem,
        timestamp: this.options.clock.now(),
        edit_timestamp: 0,
      },
    })
  }

  /** Sends a typing signal, at most one a second for a user and conversation. */
  signalTyping(conversation: Conversation, userId: Int64, state: TypingState): void {
    this.#typing.signal(conversation, userId, state)
  }

  #toOthers(conversation: Conversation, senderId: Int64, event: TransientEvent): void {
    const { transient } = this.options
    const { appId, lowId: groupId, isGroup } = conversation
    const others = readersOf(conversation).filter((userId) => userId !== senderId)
    if (isGroup) transient.toGroup({ appId, groupId }, event, senderId)
    else transient.toUsers(appId, others, event)
  }
}
