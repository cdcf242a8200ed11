import type { Int64 } from '@hermod/protocol'
import type { TransientEvent } from '@hermod/protocol/events'
import type { TransientDelivery } from '../../../delivery/transient-delivery.js'
import type { Clock } from '../../../lib/clock.js'
import { type Conversation, readersOf, toEventConversation } from '../model/conversation-model.js'
import type { MessageDraft } from '../model/message-model.js'
import { Signals, type TypingState } from './signals.js'

export interface TransientMessagesOptions {
  readonly transient: Pick<TransientDelivery, 'toGroup' | 'toUsers'>
  readonly clock: Clock
}

/** The activity of a user. */
export interface Activity {
  readonly state: string
  readonly text: string
}

/** A message that is not stored. */
export type TransientDraft = MessageDraft & { readonly conversation: Conversation }

/**
 * Sends what is never stored to connected devices of the others: messages with online_only, and
 * typing signals (rules E8a, E10).
 */
export class TransientMessages {
  readonly #typing: Signals<TypingState>
  readonly #activities: Signals<Activity>

  constructor(private readonly options: TransientMessagesOptions) {
    this.#typing = new Signals({
      send: (conversation, userId, state) =>
        this.#toOthers(conversation, userId, {
          kind: 'typing',
          data: { conversation: toEventConversation(conversation), user_id: userId, state },
        }),
    })
    this.#activities = new Signals({
      send: (conversation, userId, { state, text }) =>
        this.#toOthers(conversation, userId, {
          kind: 'activity',
          data: { conversation: toEventConversation(conversation), user_id: userId, state, text },
        }),
      isSame: (a, b) => a.state === b.state && a.text === b.text,
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

  /** Sends what a user does, at most once a second for a user and conversation. */
  signalActivity(conversation: Conversation, userId: Int64, activity: Activity): void {
    this.#activities.signal(conversation, userId, activity)
  }

  /** Asks the sender's devices to end a message that is being written. */
  signalCancel(
    conversation: Conversation,
    {
      senderId,
      userId,
      messageId,
    }: { readonly senderId: Int64; readonly userId: Int64; readonly messageId: number },
  ): void {
    this.options.transient.toUsers(conversation.appId, [senderId], {
      kind: 'stream.cancel',
      data: {
        conversation: toEventConversation(conversation),
        msg_id: messageId,
        user_id: userId,
      },
    })
  }

  #toOthers(conversation: Conversation, senderId: Int64, event: TransientEvent): void {
    const { transient } = this.options
    const { appId, lowId: groupId, isGroup } = conversation
    const others = readersOf(conversation).filter((userId) => userId !== senderId)
    if (isGroup) transient.toGroup({ appId, groupId }, event, senderId)
    else transient.toUsers(appId, others, event)
  }
}
