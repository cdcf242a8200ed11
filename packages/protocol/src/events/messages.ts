import { changeableFields, fieldChanges } from '../message-fields.js'
import { resource } from '../resource.js'
import { array, boolean, int32, int64, object, optional, Type, text } from '../schema.js'
import { event, payload } from './event-definition.js'
import { ofActor, ofLog } from './event-keys.js'

/** A conversation: its two parties, the smaller ID first; a group is its ID twice. */
export const eventConversation = resource(
  'Log',
  'The log of a direct conversation, of a group, or of the broadcasts of a sender.',
  {
    low_id: int64({
      description:
        'The party with the smaller ID. -1: what high_id, a user or the system, has broadcast to all users; each has it in the conversation with the sender.',
    }),
    high_id: int64({ description: 'The party with the greater ID; of a group its ID again.' }),
    is_group: boolean({ description: 'true: both IDs are the group' }),
  },
)

const seq = int64({ description: 'Position in the conversation, dense from 1.' })

/** The message that a message replies to, the same for every reader. */
export const replyTo = resource(
  'ReplyTo',
  'The message of the same conversation that it replies to.',
  {
    msg_id: int64({ description: 'ID of the original' }),
    seq: int64({ description: 'position of the original in the log' }),
  },
)

/** The fields of a message in events and in sync. */
export const messageFields = {
  conversation: eventConversation,
  msg_id: int64({ description: 'The message ID.' }),
  seq,
  sender_id: int64({ description: 'The sender; 0 = the system.' }),
  sender_device_sn: int32({ description: 'The device of the sender; 0 = not known.' }),
  content_type: int32({ description: 'The kind of content, as in /message/send.' }),
  content: text('The value as sent, or as last edited.'),
  attachment: text('The value as sent.'),
  config: text('The value as sent, or as last edited.'),
  ext: text('The value as sent, or as last edited.'),
  is_system: boolean({ description: 'true: a system notification' }),
  timestamp: int64({ description: 'When it was sent, milliseconds since 1970.' }),
  edit_timestamp: int64({ description: 'When it was edited last; 0 = never.' }),
  transaction_id: optional(
    text('The transaction ID of the send, for devices of the sender only; absent without one.'),
  ),
  reply_to: optional(replyTo),
  ...changeableFields,
}

/** A message, in the one shape that events and sync share. */
export const eventMessage = Type.Object(messageFields)

const editedMessage = payload(messageFields)

/** A reader, the actor, has come to this message. */
const mark = payload({
  conversation: eventConversation,
  msg_id: int64({ description: 'The newest message up to the position; 0 = none is left.' }),
  seq: int64({ description: 'The position. Marks only grow: the greatest one counts.' }),
})

const reacted = array(
  object({
    user_id: int64(),
    key: text('The reaction.'),
    on: boolean({ description: 'true: added; false: removed' }),
  }),
  { description: 'The reactions that users have added and removed.' },
)

/** A message of a conversation was pinned or unpinned by the actor. */
const messagePin = payload({
  conversation: eventConversation,
  msg_id: int64({ description: 'The message ID.' }),
  seq,
})

/** Events about messages. */
export const messageEvents = {
  /** A message was sent. Its texts are those at the time of reading. */
  'message.stored': event({
    payload: eventMessage,
    key: ofLog,
    audience: 'log',
    userChanges: {},
    causedBy: ['message.broadcast', 'message.notify', 'message.send'],
  }),
  /**
   * The number of a change that the reader does not see: the message was recalled or removed
   * since, or is older than the reader's membership.
   */
  'change.skipped': event({
    payload: Type.Object({
      conversation: eventConversation,
      seq: optional(
        int64({
          description: 'The position of the message, which counts as present although it is gone.',
        }),
      ),
      sender_id: optional(
        int64({ description: 'The sender of a recalled message; 0 = the system.' }),
      ),
      is_system: optional(boolean({ description: 'true: a system notification was recalled' })),
    }),
    key: ofLog,
    audience: 'log',
    userChanges: {},
    causedBy: [],
  }),
  /** There is one for the devices of the reader, and one for each sender of the messages concerned. */
  'message.read': event({
    payload: mark,
    key: ofLog,
    audience: 'users',
    userChanges: {},
    causedBy: ['message.ack', 'message.send'],
  }),
  /** The actor has read everything in all conversations; each mark that moved has its own event. */
  'message.read_all': event({
    payload: payload({}),
    key: ofActor,
    audience: 'none',
    userChanges: {},
    causedBy: ['message.ack'],
  }),
  'message.recalled': event({
    payload: payload({
      conversation: eventConversation,
      msg_id: int64({ description: 'The message ID.' }),
      seq,
      sender_id: int64({ description: 'The sender; 0 = the system.' }),
      is_system: boolean({ description: 'true: a system notification' }),
      timestamp: int64({ description: 'When it was recalled, milliseconds since 1970.' }),
    }),
    key: ofLog,
    audience: 'log',
    userChanges: {},
    causedBy: ['message.recall', 'message.send'],
  }),
  /** The message after the edit. */
  'message.appended': event({
    payload: editedMessage,
    key: ofLog,
    audience: 'log',
    userChanges: {},
    causedBy: ['message.send'],
  }),
  /** The message after the edit. */
  'message.replaced': event({
    payload: editedMessage,
    key: ofLog,
    audience: 'log',
    userChanges: {},
    causedBy: ['message.send', 'message.stream.append'],
  }),
  /**
   * A message that was written piece by piece has its final text (rule E19). Devices learn it from
   * `message.replaced`.
   */
  'message.stream_ended': event({
    payload: editedMessage,
    key: ofLog,
    audience: 'none',
    userChanges: {},
    causedBy: ['message.stream.append'],
  }),
  /**
   * Fields of the message have changed that are no texts. Sessions that do not announce the feature
   * `message.updated` get `message.replaced` in its place.
   */
  'message.updated': event({
    payload: payload({
      conversation: eventConversation,
      msg_id: int64({ description: 'The message ID.' }),
      seq,
      set: fieldChanges,
      reacted: optional(reacted),
    }),
    key: ofLog,
    audience: 'log',
    userChanges: {},
    causedBy: ['message.reaction', 'message.pin', 'message.unpin'],
  }),
  /**
   * Users have added and removed reactions. One event may have those of several users, which
   * `user_ids` names; the actor is 0 then. Devices get `message.updated`.
   */
  'message.reaction': event({
    payload: payload({
      conversation: eventConversation,
      msg_id: int64({ description: 'The message ID.' }),
      seq,
      reacted,
    }),
    key: ofLog,
    audience: 'none',
    userChanges: {},
    causedBy: ['message.reaction'],
  }),
  /** The actor has pinned a message. Devices get `message.updated`. */
  'message.pinned': event({
    payload: messagePin,
    key: ofLog,
    audience: 'none',
    userChanges: {},
    causedBy: ['message.pin'],
  }),
  /** The actor has unpinned a message. Devices get `message.updated`. */
  'message.unpinned': event({
    payload: messagePin,
    key: ofLog,
    audience: 'none',
    userChanges: {},
    causedBy: ['message.unpin'],
  }),
  /** There is one for the devices of the reader, and one for each sender of the messages concerned. */
  'message.delivered': event({
    payload: mark,
    key: ofLog,
    audience: 'users',
    userChanges: {},
    causedBy: ['message.ack', 'message.send', 'message.delivered'],
  }),
  /**
   * Retention removed the messages up to this one. Sent where one of them may have referred to a
   * file. A client learns it with the head of the log.
   */
  'message.expired': event({
    payload: payload({
      conversation: eventConversation,
      msg_id: int64({ description: 'The last removed message.' }),
    }),
    key: ofLog,
    audience: 'none',
    userChanges: {},
    causedBy: [],
  }),
}
