import {
  acknowledgeMessages,
  contentType,
  deleteConversation,
  type Int64,
  listConversations,
  listUnread,
  type Message,
  meaningsOf,
  messageStatus,
  readHistory,
} from '@hermod/protocol'
import type { AcknowledgementService } from '../../domain/messaging/positions/acknowledgement-service.js'
import type { ConversationDeletionService } from '../../domain/messaging/positions/conversation-deletion-service.js'
import { replyToOf } from '../../domain/messaging/model/event-message.js'
import { fieldsOf } from '../../domain/messaging/model/message-fields.js'
import type { HistoryMessage } from '../../domain/messaging/model/message-model.js'
import type { ConversationListService } from '../../domain/messaging/reading/conversation-list-service.js'
import type { HistoryService } from '../../domain/messaging/reading/history-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'
import { chargeRowsTo } from '../../pipeline/call-cost.js'
import type { MessageAnswers } from './message-answers.js'

export function conversationHandlers({
  acknowledgements,
  conversationDeletions,
  conversationLists,
  history,
  messageAnswers,
}: {
  readonly acknowledgements: AcknowledgementService
  readonly conversationDeletions: ConversationDeletionService
  readonly conversationLists: ConversationListService
  readonly history: HistoryService
  readonly messageAnswers: MessageAnswers
}): Handler[] {
  return [
    handle(
      readHistory,
      async ({ opposite_id: peerId, msg_id_start: startId, limit }, { principal }) => {
        const page = await history.read(principal, peerId, { startId, limit })
        const { conversation } = page
        const { isGroup } = conversation
        const answered = page.messages.map((message) => ({ conversation, message }))
        const reader = await messageAnswers.readerOf(principal, answered)
        const receiverOf = ({ senderId }: HistoryMessage) =>
          isGroup || principal.userId === null || senderId === principal.userId
            ? peerId
            : principal.userId
        return data({
          is_last: page.nextMessageId === null,
          messages: page.messages.map((message) =>
            toMessage(message, receiverOf(message), reader.own(conversation, message)),
          ),
          next_msg_id: page.nextMessageId ?? 0,
          ...reader.quotes,
        })
      },
    ),
    handle(deleteConversation, ({ conversation_id: peerId }, { principal }) =>
      whenDone(conversationDeletions.delete(principal, peerId)),
    ),
    handle(listConversations, async ({ cursor, limit }, { principal, allowance }) => {
      const charge = chargeRowsTo(allowance)
      const page = await conversationLists.list(principal, { cursor, limit }, charge)
      return data({
        conversations: page.conversations.map(
          ({ peerId, createdAt, lastMessageId, updatedAt }) => ({
            conversation_id: { uid: peerId },
            create_timestamp: createdAt,
            latest_msg_id: lastMessageId,
            update_timestamp: updatedAt,
          }),
        ),
        has_more: page.nextCursor !== null,
        next_cursor: page.nextCursor ?? '',
      })
    }),
    handle(listUnread, async (_, { principal, allowance }) => {
      const unread = await conversationLists.listUnread(principal, chargeRowsTo(allowance))
      return data(
        unread.map(({ peerId, unreadCount }) => ({
          conversation_id: { uid: peerId },
          num: unreadCount,
        })),
      )
    }),
    handle(
      acknowledgeMessages,
      ({ conversation_id: peerId, msg_id: messageId }, { principal, allowance }) =>
        whenDone(
          acknowledgements.acknowledge(principal, { peerId, messageId }, chargeRowsTo(allowance)),
        ),
    ),
  ]
}

const ctypes = meaningsOf(contentType)
const statuses = meaningsOf(messageStatus)

function toMessage(message: HistoryMessage, receiverId: Int64, own: string[] | null): Message {
  return {
    attachment: message.attachment,
    config: message.config,
    content: message.content,
    ctype: ctypes[message.contentType] ?? 'TEXT',
    edit_timestamp: message.editedAt,
    ext: message.ext,
    from_xid: { device_sn: message.senderDeviceSn, uid: message.senderId },
    is_system: message.isSystem === 1,
    msg_id: message.messageId,
    seq: message.seq,
    status: statuses[message.status],
    timestamp: message.sentAt,
    to_xid: { device_sn: 0, uid: receiverId },
    ...replyToOf(message),
    ...fieldsOf(message),
    ...(own && { own }),
  }
}
