import { contentType, meaningsOf, messageStatus } from '../enums.js'
import { replyTo } from '../events/messages.js'
import { changeableFields, ownReactions } from '../message-fields.js'
import { instant, resource } from '../resource.js'
import { quotes } from './quotes.js'
import { array, boolean, int32, int64, optional, type Static, stringEnum, text } from '../schema.js'

/** Sender or receiver of a message, as in the contract. */
export const Xid = resource('Xid', 'One end of a message.', {
  device_sn: int32({ description: 'device serial number; 0 when no device is meant' }),
  uid: int64({ description: 'user or group ID; 0 is the system' }),
})
/** A user or group; a sender also has a device. */
export type Xid = Static<typeof Xid>

/**
 * Message of the contract, plus is_system and edit_timestamp (rules E8, E9). Recalled messages are
 * not shown (rule E7).
 */
export const Message = resource('Message', 'A message as the caller sees it.', {
  attachment: text(
    'for image, voice, video and file messages: a JSON object that holds the file URL',
  ),
  config: text('a JSON object with options, such as mentions, as in /message/send'),
  content: text('message content'),
  ctype: stringEnum(Object.values(meaningsOf(contentType)), {
    description: 'what the message holds',
  }),
  edit_timestamp: instant('last edit, 0 when never edited'),
  ext: text('extension data'),
  from_xid: Xid,
  is_system: boolean({ description: 'true: a system notification' }),
  msg_id: int64({ description: 'message ID; grows with time inside a conversation' }),
  seq: int64({
    description: 'position in its log, dense from 1; broadcasts have a log of their own',
  }),
  status: stringEnum(Object.values(meaningsOf(messageStatus)), { description: 'delivery status' }),
  timestamp: instant('delivery timestamp'),
  to_xid: Xid,
  reply_to: optional(replyTo),
  ...changeableFields,
  own: ownReactions,
})
/** A message from the caller's view: status depends on the caller (rule E6), unset texts are "". */
export type Message = Static<typeof Message>

/** A reaction of one user to a message. */
export const UserReaction = resource('UserReaction', 'A reaction of a user to a message.', {
  user_id: int64({ description: 'the user' }),
  key: text('the reaction'),
  time: instant('when it was stored'),
})
/** A reaction as /message/reactions lists it. */
export type UserReaction = Static<typeof UserReaction>

/** A page of history by descending msg_id (rule E8b). */
export const MessagePage = resource('MessagePage', 'A page of history, newest message first.', {
  is_last: boolean({ description: 'true: no more messages' }),
  messages: array(Message, { description: 'newest first' }),
  next_msg_id: int64({ description: 'use as msg_id_start to continue; 0 when is_last' }),
  quotes,
})
/** At most `limit` messages; next_msg_id 0 when is_last. */
export type MessagePage = Static<typeof MessagePage>

/** The contract's wrapper around the ID of a conversation. */
export const ConversationRef = resource('ConversationRef', 'Names a conversation.', {
  uid: int64({ description: 'conversation ID: the other user, or the group' }),
})
/** The other user, the group, or 0 for the system. */
export type ConversationRef = Static<typeof ConversationRef>

/**
 * Conversation entry of the contract. latest_msg_id is the newest message that the caller can see.
 */
export const ConversationEntry = resource('ConversationEntry', 'A conversation of the caller.', {
  conversation_id: ConversationRef,
  create_timestamp: instant('creation timestamp'),
  latest_msg_id: int64({ description: 'latest message ID' }),
  update_timestamp: instant('most recent activity timestamp'),
})
/** A conversation of the caller; times in ms. */
export type ConversationEntry = Static<typeof ConversationEntry>

/**
 * Data of /message/conversation_list, most recent activity first. The cursor is inside data here.
 */
export const ConversationPage = resource(
  'ConversationPage',
  'A page of conversations, most recent activity first.',
  {
    conversations: array(ConversationEntry, { description: 'most recent activity first' }),
    has_more: boolean({ description: 'true: another page follows' }),
    next_cursor: text('cursor of the next page; "" on the last one'),
  },
)
/** A page of conversations; next_cursor "" on the last one. */
export type ConversationPage = Static<typeof ConversationPage>

/** Unread entry of the contract; conversations with nothing unread are left out (rule E5). */
export const UnreadEntry = resource('UnreadEntry', 'A conversation with unread messages.', {
  conversation_id: ConversationRef,
  num: int32({ description: 'unread message number' }),
})
/** A conversation and its number of unread messages, at least 1. */
export type UnreadEntry = Static<typeof UnreadEntry>

/** Data of /message/broadcast (rule E9). */
export const BroadcastResult = resource('BroadcastResult', 'The result of a broadcast.', {
  send_num: int64({
    description: 'number of users who see it: all that exist now, the sender among them',
  }),
  success: boolean({ description: 'success or not' }),
})
/** Number of users that a broadcast is for. */
export type BroadcastResult = Static<typeof BroadcastResult>

/** A target that did not accept a message (rule E11). */
export const FailedTarget = resource(
  'FailedTarget',
  'A target that did not take the message, and why.',
  {
    target: int64({ description: 'user or group ID' }),
    code: int32({ description: 'error code' }),
    reason: text('what the code says'),
  },
)

/** Data of /user/conversation/pin_list. */
export const PinnedConversations = resource(
  'PinnedConversations',
  'The conversations that the user pinned.',
  {
    conversation_ids: array(int64(), { description: 'IDs of users and groups' }),
  },
)
/** IDs of pinned conversations, the most recently pinned first. */
export type PinnedConversations = Static<typeof PinnedConversations>

/** Data of /message/stream/append (rule E19). */
export const StreamPosition = resource('StreamPosition', 'Where a stream stands.', {
  next_index: int64({ description: 'the index of the next append' }),
  length: int64({ description: 'the length of the text so far, in UTF-16 units' }),
  cancel: boolean({ description: 'true: a reader asks to end it' }),
})
/** The next index and the length of a stream, and whether it should end. */
export type StreamPosition = Static<typeof StreamPosition>
