import { contentType, meaningsOf, messageStatuses } from '../enums.js'
import { array, boolean, int32, int64, type Static, stringEnum, text } from '../schema.js'
import { instant, resource } from './fields.js'

export const Xid = resource('Xid', 'One end of a message.', {
  device_sn: int32({ description: 'device serial number; 0 when no device is meant' }),
  uid: int64({ description: 'user or group ID; 0 is the system' }),
})
export type Xid = Static<typeof Xid>

export const Message = resource('Message', 'A message as the caller sees it.', {
  attachment: text(
    'for image, voice, video and file messages: a JSON object that holds the file URL',
  ),
  config: text('extension fields used by the SDK layer, JSON'),
  content: text('message content'),
  ctype: stringEnum(Object.values(meaningsOf(contentType)), {
    description: 'what the message holds',
  }),
  edit_timestamp: instant('last edit, 0 when never edited'),
  ext: text('extension data'),
  from_xid: Xid,
  is_system: boolean({ description: 'true: a system notification' }),
  msg_id: int64({ description: 'message ID; grows with time inside a conversation' }),
  status: stringEnum(messageStatuses, { description: 'how far the message got' }),
  timestamp: instant('delivery timestamp'),
  to_xid: Xid,
})
export type Message = Static<typeof Message>

export const MessagePage = resource('MessagePage', 'A page of history, newest message first.', {
  is_last: boolean({ description: 'true: no more messages' }),
  messages: array(Message, { description: 'newest first' }),
  next_msg_id: int64({ description: 'use as msg_id_start to continue; 0 when is_last' }),
})
export type MessagePage = Static<typeof MessagePage>

export const ConversationRef = resource('ConversationRef', 'Names a conversation.', {
  uid: int64({ description: 'conversation ID: the other user, or the group' }),
})
export type ConversationRef = Static<typeof ConversationRef>

export const ConversationEntry = resource('ConversationEntry', 'A conversation of the caller.', {
  conversation_id: ConversationRef,
  create_timestamp: instant('creation timestamp'),
  latest_msg_id: int64({ description: 'latest message ID' }),
  update_timestamp: instant('most recent activity timestamp'),
})
export type ConversationEntry = Static<typeof ConversationEntry>

export const ConversationPage = resource(
  'ConversationPage',
  'A page of conversations, most recent activity first.',
  {
    conversations: array(ConversationEntry, { description: 'most recent activity first' }),
    has_more: boolean({ description: 'true: another page follows' }),
    next_cursor: text('cursor of the next page; "" on the last one'),
  },
)
export type ConversationPage = Static<typeof ConversationPage>

export const UnreadEntry = resource('UnreadEntry', 'A conversation with unread messages.', {
  conversation_id: ConversationRef,
  num: int32({ description: 'unread message number' }),
})
export type UnreadEntry = Static<typeof UnreadEntry>

export const BroadcastResult = resource('BroadcastResult', 'What became of a broadcast.', {
  send_num: int64({ description: 'number of users that the broadcast is for' }),
  success: boolean({ description: 'success or not' }),
})
export type BroadcastResult = Static<typeof BroadcastResult>

export const PinnedConversations = resource(
  'PinnedConversations',
  'The conversations that the user pinned.',
  {
    conversation_ids: array(int64(), { description: 'IDs of users and groups' }),
  },
)
export type PinnedConversations = Static<typeof PinnedConversations>
