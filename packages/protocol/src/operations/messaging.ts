import {
  broadcastContentType,
  broadcastTarget,
  meaningsOf,
  sendContentType,
  streamEnds,
  streamKinds,
  targetType,
} from '../enums.js'
import { operation } from '../operation.js'
import {
  BroadcastResult,
  ConversationPage,
  FailedTarget,
  MessagePage,
  PinnedConversations,
  StreamPosition,
  UnreadEntry,
  UserReaction,
} from '../resources/messaging.js'
import { FoundMessage, PinnedMessages } from '../resources/sync.js'
import {
  array,
  boolean,
  int32,
  int64,
  intEnum,
  list,
  object,
  optional,
  string,
  stringEnum,
} from '../schema.js'
import {
  done,
  get,
  id,
  messageText,
  messageTexts,
  nextCursor,
  pageParameters,
  post,
  putOrPost,
  reactionKey,
} from './fields.js'

const tag = 'Messages'

const conversations = 'Conversations'

/** The reasons why a user may not write to a user or group. */
const targetRefusals = [
  'user_not_found',
  'user_deleted',
  'blocked_by_recipient',
  'stranger_refused',
  'group_not_found',
  'not_group_member',
  'member_banned',
] as const

const conversationId = id('conversation ID: the other user, or the group')

const typingSignal =
  'An empty text without attachment, with an ext object that has the only member input_status, which is "typing" or "nothing", is a typing ' +
  'signal: it reaches devices that are connected and is never stored.'

const sendBody = {
  ...messageTexts,
  content: messageText(
    'message content; may be omitted with an attachment and from content_type 9 up',
    ['Hello'],
  ),
  content_type: intEnum(meaningsOf(sendContentType), { description: 'what the message holds' }),
  edit_timestamp: optional(
    int64({
      description:
        'of an edit: edit_timestamp of the message that the sender has seen, 0 for one that was never edited; another one answers 13014; absent: not checked',
    }),
  ),
  from_user_id: optional(id("sender; with a user token absent or the caller's own")),
  online_only: optional(
    boolean({
      description: 'true delivers only to online users and stores nothing',
      default: false,
    }),
  ),
  related_mid: optional(id('ID of the message affected, from content_type 9 up')),
  targets: list(int64(), {
    description: 'receiving user IDs or group IDs; duplicates count once',
    minItems: 1,
  }),
  transaction_id: optional(
    id(
      'deduplication ID: a repeat answers the first result and delivers nothing; 0 counts as absent',
    ),
  ),
  type: intEnum(meaningsOf(targetType), { description: 'target type' }),
}

/** The parameter of /message/send that begins a stream. */
const streamBegin = {
  stream: optional(
    object(
      { kind: stringEnum(streamKinds, { description: 'how the text is to be shown' }) },
      {
        description:
          'the text follows in pieces by /message/stream/append; one target, content_type 0 (text), not online_only',
      },
    ),
  ),
}

const sendExtras = {
  msg_ids: optional(
    array(int64(), { description: 'message ID; present when there is exactly one recipient' }),
  ),
  fails: optional(
    array(FailedTarget, {
      description:
        'the targets that did not take the message; present when some did and some did not',
    }),
  ),
}

/**
 * All accepted targets are stored in one commit. A repeat with the same transaction_id within 24
 * hours answers the first result and delivers nothing (rule E4). Inside a conversation msg_id
 * strictly grows (rule E3). Rules E2, E8a and E11 list the refusals.
 */
export const sendMessage = operation({
  id: 'message.send',
  methods: putOrPost,
  path: '/message/send',
  tag,
  summary: 'Sends a message to users or groups.',
  description:
    'Code 200 means that the message is on disk. Each target is checked alone: the call succeeds if at least one accepted the message, and fails with the first reason if none did. content_type 9 to 12 act on the message related_mid and never return msg_ids. ' +
    typingSignal,
  callers: 'sender',
  scopes: ['messages:send'],
  body: {
    ...sendBody,
    ...streamBegin,
    reply_to: optional(
      id(
        'message that it replies to, in the same conversation; not with online_only nor from content_type 9 up; dropped with content_type 7 (forward)',
      ),
    ),
  },
  copied: ['content', 'attachment', 'ext', 'config'],
  data: done,
  extras: sendExtras,
  errors: [
    ...targetRefusals,
    'message_too_large',
    'conversation_not_found',
    'message_not_found',
    'recall_too_late',
    'recall_disabled',
    'message_type_refused',
    'edited_meanwhile',
    'reply_unavailable',
    'too_many_requests',
  ],
})

/** Bytes of one piece of text. */
const maxChunkBytes = 8_192

const streamedMessage = {
  conversation_id: conversationId,
  msg_id: id('message ID'),
}

/**
 * Pieces are stored one by one: code 200 means that the piece is on disk. A repeat of the last one
 * succeeds and changes nothing. The end is an edit of the message. Rule E19.
 */
export const appendStream = operation({
  id: 'message.stream.append',
  methods: post,
  path: '/message/stream/append',
  tag,
  summary: 'Appends text to a message that is being written, and ends it.',
  description:
    'index counts from 1 without a gap. The last index again with the same text is a success, also after the end; any other one answers 13012 with next_index and state. An empty text is a sign of life: after 30 s without an append the service ends the stream.',
  callers: 'sender',
  scopes: ['messages:send'],
  origin: 'extension',
  countsForApp: false,
  bodyBytesPerToken: 4_096,
  body: {
    ...streamedMessage,
    type: intEnum(meaningsOf(targetType), { description: 'target type' }),
    from_user_id: optional(id("sender; with a user token absent or the caller's own")),
    index: int64({ description: 'of this piece, from 1', minimum: 1 }),
    text: string({
      description: 'splits no surrogate pair; "": a sign of life',
      maxBytes: maxChunkBytes,
    }),
    end: optional(
      object(
        {
          state: stringEnum(streamEnds, { description: 'how it ended' }),
          reason: optional(string({ description: 'why, for readers', maxLength: 200 })),
          content: messageText('the whole final text; absent: the text of the pieces'),
          ext: messageText('the ext of the message from now on; absent: unchanged'),
          attachment: messageText('its attachment from now on; absent: unchanged'),
        },
        { description: 'ends the stream with this piece' },
      ),
    ),
  },
  data: StreamPosition,
  errors: [...targetRefusals, 'message_too_large', 'message_not_found', 'stream_refused'],
})

/** The sender learns it with its next append. Cancelling again, and after the end, has no effect. */
export const cancelStream = operation({
  id: 'message.stream.cancel',
  methods: post,
  path: '/message/stream/cancel',
  tag,
  summary: 'Asks the sender to end a message that is being written.',
  description:
    'Either party of a direct conversation; in a group the sender, owner and admins. Every later append answers cancel: true; connected devices of the sender get the event stream.cancel.',
  callers: 'party',
  scopes: ['messages:send'],
  origin: 'extension',
  conversation: 'conversation_id',
  body: streamedMessage,
  data: done,
  errors: ['message_not_found', 'conversation_not_found', 'group_not_found', 'member_required'],
})

/** Reaches connected devices of the others only, like a typing signal (rule E19). */
export const sendActivity = operation({
  id: 'message.activity',
  methods: post,
  path: '/message/activity',
  tag,
  summary: 'Shows the others of a conversation what the sender does.',
  description:
    'At most one a second for a sender and conversation reaches them, the newest of each second. Stored nowhere.',
  callers: 'sender',
  scopes: ['messages:send'],
  origin: 'extension',
  countsForApp: false,
  body: {
    conversation_id: conversationId,
    type: intEnum(meaningsOf(targetType), { description: 'target type' }),
    from_user_id: optional(id("sender; with a user token absent or the caller's own")),
    state: string({
      description: 'such as thinking or searching; "": nothing any more',
      maxLength: 32,
    }),
    text: optional(string({ description: 'more about it', maxLength: 100 })),
  },
  data: done,
  errors: targetRefusals,
})

/**
 * Same as {@link sendMessage}, but ignores blocks, strangers and bans, and carries is_system. Rules
 * E5, E9 and E11a.
 */
export const sendNotification = operation({
  id: 'message.notify',
  methods: putOrPost,
  path: '/message/notify',
  tag,
  summary: 'Sends a system notification to users or groups.',
  description: 'A message with is_system true, from user 0 or the given sender.',
  callers: 'admin',
  scopes: ['messages:send'],
  body: sendBody,
  data: done,
  extras: sendExtras,
  errors: [
    'user_not_found',
    'user_deleted',
    'message_too_large',
    'group_not_found',
    'not_group_member',
    'conversation_not_found',
    'message_not_found',
    'message_type_refused',
    'edited_meanwhile',
  ],
})

/**
 * For all users who exist when it is sent. Each has it in the conversation with its sender; the
 * cost does not depend on their number. Users who register later do not see it (rule E9).
 */
export const sendBroadcast = operation({
  id: 'message.broadcast',
  methods: post,
  path: '/message/broadcast',
  tag,
  summary: 'Sends a message to every user of the application.',
  description:
    'Stored once, and shown to every user who exists now in the conversation with its sender: user 0, or from_user_id, or the user of the user_id header. It counts as unread like any other message. Users who register later do not see it. An Admin token recalls and edits it.',
  callers: 'admin',
  scopes: ['messages:send'],
  body: {
    ...messageTexts,
    content: messageText('message content', ['Hello']),
    from_user_id: optional(
      id('sender; the system, user 0, when neither it nor the header is given'),
    ),
    content_type: intEnum(meaningsOf(broadcastContentType), {
      description: 'what the message holds',
    }),
    type: intEnum(meaningsOf(broadcastTarget), { description: 'target type' }),
  },
  data: BroadcastResult,
  errors: ['user_not_found', 'user_deleted', 'message_too_large'],
})

/**
 * Positions only move forward, so it is safe to repeat and to send late. Other devices of the
 * caller, and senders who requested a receipt, are notified. Rule E5 defines the effect of each
 * combination of parameters.
 */
export const acknowledgeMessages = operation({
  id: 'message.ack',
  methods: get,
  path: '/message/ack',
  tag,
  summary: 'Sends a read receipt.',
  description:
    'Reads up to msg_id, else everything of conversation_id; with neither, all conversations.',
  callers: 'user',
  scopes: ['messages:send'],
  query: {
    conversation_id: optional(conversationId),
    device_sn: optional(int32({ description: 'serial number of the reading device' })),
    msg_id: optional(id('message up to which all is read')),
  },
  data: done,
  errors: ['message_not_found', 'conversation_not_found'],
})

/**
 * Removes the message from history, latest_msg_id and unread counts at once, and leaves a record of
 * its removal. A second recall answers 13000. Rule E7.
 */
export const recallMessage = operation({
  id: 'message.recall',
  methods: putOrPost,
  path: '/message/recall',
  tag,
  summary: 'Recalls a message.',
  description:
    "The sender within 5 minutes; owner and admins of a group for ordinary members' messages; an Admin token always, of a group also without a user_id header.",
  callers: 'party',
  scopes: ['messages:send'],
  conversation: 'conversation_id',
  body: { conversation_id: conversationId, msg_id: id('message ID') },
  data: done,
  errors: ['message_not_found', 'conversation_not_found', 'recall_too_late', 'recall_disabled'],
})

/**
 * At most 100 a page; msg_id_start is inclusive, next_msg_id is the first message of the next page
 * (rule E8b). With a token tied to a device, received messages become DELIVERED (rule E6).
 */
export const readHistory = operation({
  id: 'message.conversation.get',
  methods: get,
  path: '/message/conversation',
  tag: conversations,
  summary: 'Reads the history of a conversation, newest first.',
  description: 'Newest first, at most 100 a page.',
  callers: 'party',
  scopes: ['messages:read'],
  conversation: 'opposite_id',
  query: {
    limit: int32({ description: 'how many; cut to 100', minimum: 1 }),
    msg_id_start: int64({
      description: 'message to start from, itself included; 0: the newest',
      minimum: 0,
    }),
    opposite_id: conversationId,
  },
  data: MessagePage,
  errors: ['group_not_found', 'member_required'],
})

/**
 * By the rights of {@link readHistory}: messages that it does not show the caller are not found,
 * except that recalled ones have a tombstone. It delivers nothing.
 */
export const getMessage = operation({
  id: 'message.get',
  methods: get,
  path: '/message/get',
  tag,
  summary: 'Reads one message of a conversation.',
  description:
    'In the shape of sync. A recalled message has recalled in place of message. Messages that are hidden from the caller, or removed, are not found.',
  callers: 'party',
  scopes: ['messages:read'],
  origin: 'extension',
  conversation: 'conversation_id',
  query: { conversation_id: conversationId, msg_id: id('message ID') },
  data: FoundMessage,
  errors: ['message_not_found', 'group_not_found', 'member_required'],
})

/**
 * States the wanted state, so it is safe to repeat. Reactions to one message are stored together:
 * the first at once, those that follow after 200 ms to 5 s, up to 100 together, and 100 of them after
 * 200 ms. A call that is not begun when its connection ends has no effect.
 */
export const reactToMessage = operation({
  id: 'message.reaction',
  methods: post,
  path: '/message/reaction',
  tag,
  summary: 'Adds or removes a reaction to a message.',
  description:
    'on is the wanted state, so a call may be repeated. Who may read the message may remove their own reactions; adding one needs the right to send to the conversation now. Code 200 means that it is on disk: calls for a message that gets many reactions are answered together, after up to 5 seconds and more. A call that has not begun when its connection ends has no effect. A message has at most 50 different reactions and 20 of one user. Not for broadcasts, the system conversation and chatrooms (13009).',
  callers: 'user',
  scopes: ['messages:send'],
  origin: 'extension',
  waits: true,
  body: {
    conversation_id: conversationId,
    type: intEnum(meaningsOf(targetType), { description: 'what conversation_id is' }),
    msg_id: id('message ID'),
    key: reactionKey,
    on: boolean({ description: 'true: the caller wants to have the reaction; false: not' }),
  },
  data: done,
  errors: [
    'user_not_found',
    'user_deleted',
    'blocked_by_recipient',
    'stranger_refused',
    'group_not_found',
    'member_required',
    'member_banned',
    'message_not_found',
    'message_type_refused',
    'reaction_or_pin_limit_reached',
  ],
})

/** For everyone who may read the message. */
export const listReactions = operation({
  id: 'message.reactions',
  methods: get,
  path: '/message/reactions',
  tag,
  summary: 'Lists who has reacted to a message.',
  description: 'Newest first, at most 200 a page.',
  callers: 'user',
  scopes: ['messages:read'],
  origin: 'extension',
  query: {
    conversation_id: conversationId,
    msg_id: id('message ID'),
    key: optional(reactionKey),
    ...pageParameters,
  },
  data: array(UserReaction),
  extras: nextCursor,
  errors: ['user_not_found', 'member_required', 'message_not_found'],
})

const pinErrors = [
  'user_not_found',
  'group_not_found',
  'member_required',
  'group_admin_required',
  'message_not_found',
  'message_type_refused',
  'user_deleted',
  'blocked_by_recipient',
  'stranger_refused',
  'member_banned',
] as const

/**
 * In groups for owner and admins, with member_modify for all members. A pinned message keeps its
 * place when it is pinned again. A pinned conversation is something else: see /user/conversation/pin.
 */
export const pinMessage = operation({
  id: 'message.pin',
  methods: post,
  path: '/message/pin',
  tag,
  summary: 'Pins a message for all who read the conversation.',
  description:
    'Both parties of a direct conversation; in groups owner and admins, with member_modify all members. A conversation has at most 50 pinned messages. Not for broadcasts, the system conversation and chatrooms (13009).',
  callers: 'party',
  scopes: ['messages:send'],
  origin: 'extension',
  conversation: 'conversation_id',
  body: { conversation_id: conversationId, msg_id: id('message ID') },
  data: done,
  errors: [...pinErrors, 'reaction_or_pin_limit_reached'],
})

/** Safe to repeat, also for messages that were never pinned. */
export const unpinMessage = operation({
  id: 'message.unpin',
  methods: post,
  path: '/message/unpin',
  tag,
  summary: 'Unpins a message.',
  description: 'By those who may pin one. A message that is not pinned stays as it is.',
  callers: 'party',
  scopes: ['messages:send'],
  origin: 'extension',
  conversation: 'conversation_id',
  body: { conversation_id: conversationId, msg_id: id('message ID') },
  data: done,
  errors: pinErrors,
})

/** By the rights of {@link readHistory}: messages that it does not show the caller are left out. */
export const listPinnedMessages = operation({
  id: 'message.pinned',
  methods: get,
  path: '/message/pinned',
  tag,
  summary: 'Lists the pinned messages of a conversation.',
  description: 'The one pinned last first, always the whole list: at most 50.',
  callers: 'party',
  scopes: ['messages:read'],
  origin: 'extension',
  conversation: 'conversation_id',
  query: { conversation_id: conversationId },
  data: PinnedMessages,
  errors: ['user_not_found', 'group_not_found', 'member_required'],
})

/**
 * Hides for the caller on all devices; other users see no difference. The next message brings the
 * conversation back with that message only (rule E13).
 */
export const deleteConversation = operation({
  id: 'message.conversation.delete',
  methods: ['DELETE'],
  path: '/message/conversation',
  tag: conversations,
  summary: 'Hides what a conversation holds from the caller, on all devices.',
  callers: 'user',
  scopes: ['messages:send'],
  body: { conversation_id: conversationId },
  data: done,
  errors: ['conversation_not_found'],
})

/**
 * Conversations without a message that the caller can see are left out. A walk over all pages shows
 * each conversation that there was at its first page once, in the order of that time.
 */
export const listConversations = operation({
  id: 'message.conversation.list',
  methods: get,
  path: '/message/conversation_list',
  tag: conversations,
  summary: 'Lists the conversations of the user, most recent activity first.',
  description:
    'Most recent activity first, 20 a page, which is also the most. A walk over all pages shows each conversation that there was at its first page once, in the order of that time, whatever is sent meanwhile. Conversations without a message that the caller can see are left out.',
  callers: 'user',
  scopes: ['messages:read'],
  query: {
    ...pageParameters,
    limit: optional(int32({ description: 'how many; cut to 20', minimum: 1, default: 20 })),
  },
  data: ConversationPage,
})

/**
 * Counted from the log, never from a counter, so the numbers cannot drift (rule E5). Leaves out
 * chatrooms, dissolved groups, and messages that arrived while msg_mute_mode was 2 (rule F8a).
 */
export const listUnread = operation({
  id: 'message.unread',
  methods: get,
  path: '/message/unread',
  tag: conversations,
  summary: 'Lists the unread counts of the conversations that have any.',
  description:
    'In no particular order, always the whole list. Chatrooms and dissolved groups are left out. Messages that arrive in a group while msg_mute_mode is 2 are not counted; earlier unread messages are.',
  callers: 'user',
  scopes: ['messages:read'],
  data: array(UnreadEntry),
})

/** Safe to repeat; pinning again makes it the newest. At most 1,000 a user (13010). */
export const pinConversation = operation({
  id: 'user.conversation.pin',
  methods: putOrPost,
  path: '/user/conversation/pin',
  tag: conversations,
  summary: 'Pins a conversation.',
  callers: 'user',
  scopes: ['messages:send'],
  body: { conversation_id: conversationId },
  data: done,
  errors: [
    'user_not_found',
    'user_deleted',
    'group_not_found',
    'not_group_member',
    'pin_limit_reached',
  ],
})

/** Safe to repeat, also for conversations that were never pinned. */
export const unpinConversation = operation({
  id: 'user.conversation.unpin',
  methods: putOrPost,
  path: '/user/conversation/unpin',
  tag: conversations,
  summary: 'Unpins a conversation.',
  callers: 'user',
  scopes: ['messages:send'],
  body: { conversation_id: conversationId },
  data: done,
})

/** The most recently pinned conversation comes first. */
export const listPinnedConversations = operation({
  id: 'user.conversation.pin_list',
  methods: get,
  path: '/user/conversation/pin_list',
  tag: conversations,
  summary: 'Lists the pinned conversations.',
  description: 'The one pinned last comes first, always the whole list: at most 1,000.',
  callers: 'user',
  scopes: ['messages:read'],
  data: PinnedConversations,
})
