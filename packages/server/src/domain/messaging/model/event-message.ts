import type { EventPayloads } from '@hermod/protocol/events'
import { type Conversation, toEventConversation } from './conversation-model.js'
import { fieldsOf } from './message-fields.js'
import type { StoredMessage } from './message-model.js'

/** A message in the shape that events and sync share. */
export type EventMessage = EventPayloads['message.stored']

/**
 * The shape of a stored message in events and in sync, for devices of its sender; others get
 * {@link withoutTransactionId}.
 */
export function toEventMessage(conversation: Conversation, message: StoredMessage): EventMessage {
  const { transactionId } = message
  return {
    conversation: toEventConversation(conversation),
    msg_id: message.messageId,
    seq: message.seq,
    sender_id: message.senderId,
    sender_device_sn: message.senderDeviceSn,
    content_type: message.contentType,
    content: message.content,
    attachment: message.attachment,
    config: message.config,
    ext: message.ext,
    is_system: message.isSystem === 1,
    timestamp: message.sentAt,
    edit_timestamp: message.editedAt,
    ...(transactionId !== null && { transaction_id: transactionId }),
    ...replyToOf(message),
    ...fieldsOf(message),
  }
}

/** The member of answers and events by which a message is a reply; nothing for others. */
export function replyToOf({
  replyToId,
  replyToSeq,
}: Pick<StoredMessage, 'replyToId' | 'replyToSeq'>): Pick<EventMessage, 'reply_to'> {
  if (replyToId === null || replyToSeq === null) return notReplying
  return { reply_to: { msg_id: replyToId, seq: replyToSeq } }
}

const notReplying = {}

/** Returns the same object when it has no transaction ID. */
export function withoutTransactionId<Message extends Pick<EventMessage, 'transaction_id'>>(
  message: Message,
): Message {
  if (message.transaction_id === undefined) return message
  const { transaction_id: _, ...rest } = message
  return rest as Message
}
