import {
  acknowledgeMessages,
  contentType,
  deleteConversation,
  type Int64,
  listConversations,
  listUnread,
  type Message,
  meaningsOf,
  messageStatuses,
  readHistory,
} from '@hermod/protocol'
import type { HistoryMessage } from '../../domain/messaging/log/message-model.js'
import type { ConversationService } from '../../domain/messaging/reading/conversation-service.js'
import type { AccountService } from '../../domain/users/account-service.js'
import { timestampOf } from '../../lib/ids.js'
import { data, type Handler, handle } from '../../pipeline/call.js'
import { actingUser } from '../acting-user.js'

interface Services {
  readonly accounts: AccountService
  readonly conversations: ConversationService
}

export function conversationHandlers({ accounts, conversations }: Services): Handler[] {
  return [
    handle(
      readHistory,
      async ({ opposite_id: peerId, msg_id_start: startId, limit }, { caller }) => {
        const reader = await actingUser(accounts, caller)
        const page = await conversations.history(reader, peerId, {
          startId,
          limit,
          isOnDevice: caller.kind === 'user' && caller.deviceSn !== null,
        })
        const { isGroup } = page.conversation
        const receiverOf = ({ senderId }: HistoryMessage) =>
          isGroup || senderId === reader.userId ? peerId : reader.userId
        return data({
          is_last: page.nextMessageId === null,
          messages: page.messages.map((message) => toMessage(message, receiverOf(message))),
          next_msg_id: page.nextMessageId ?? 0,
        })
      },
    ),
    handle(deleteConversation, async ({ conversation_id: peerId }, { caller }) => {
      await conversations.delete(await actingUser(accounts, caller), peerId)
      return data(true)
    }),
    handle(listConversations, async ({ cursor, limit }, { caller }) => {
      const page = await conversations.list(await actingUser(accounts, caller), { cursor, limit })
      return data({
        conversations: page.conversations.map(({ peerId, createdAt, lastMessageId }) => ({
          conversation_id: { uid: peerId },
          create_timestamp: createdAt,
          latest_msg_id: lastMessageId,
          update_timestamp: timestampOf(lastMessageId),
        })),
        has_more: page.nextCursor !== null,
        next_cursor: page.nextCursor ?? '',
      })
    }),
    handle(listUnread, async (_, { caller }) => {
      const unread = await conversations.listUnread(await actingUser(accounts, caller))
      return data(
        unread.map(({ peerId, unreadCount }) => ({
          conversation_id: { uid: peerId },
          num: unreadCount,
        })),
      )
    }),
    handle(
      acknowledgeMessages,
      async ({ conversation_id: peerId, msg_id: messageId }, { caller }) => {
        await conversations.acknowledge(await actingUser(accounts, caller), { peerId, messageId })
        return data(true)
      },
    ),
  ]
}

const ctypes = meaningsOf(contentType)

function toMessage(message: HistoryMessage, receiverId: Int64): Message {
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
    status: messageStatuses[message.status],
    timestamp: timestampOf(message.messageId),
    to_xid: { device_sn: 0, uid: receiverId },
  }
}
