import {
  array,
  boolean,
  freeObject,
  int32,
  int64,
  optional,
  string,
  stringEnum,
  Type,
  text,
} from '../schema.js'
import { eventConversation, messageEvents } from './messages.js'

/** States of a typing signal. */
export const typingStates = ['typing', 'nothing'] as const

/**
 * Payloads of events that are sent to connected devices and never stored. A client that was absent
 * does not get them later.
 */
export const liveEvents = {
  /** Online states that changed, of users that the connection follows. */
  presence: Type.Object({
    users: array(Type.Object({ user_id: int64(), online: boolean() })),
  }),
  /** A user began or stopped to write in the conversation. */
  typing: Type.Object({
    conversation: eventConversation,
    user_id: int64(),
    state: stringEnum(typingStates),
  }),
  /** A message that was sent with online_only; it has no position and no receipts. */
  'message.transient': Type.Omit(messageEvents['message.stored'], ['seq']),
  /** A push through the channel core. The client confirms it with the operation push.received. */
  'push.notification': Type.Object({
    task_id: int64({ description: 'The task, for push.received.' }),
    message_type: stringEnum(['text', 'image', 'cmd'], {
      description: 'cmd: for the app, never displayed.',
    }),
    title: text('"" for none.'),
    content: text('The text to display.'),
    attachment: text('URL of an image, audio or video; "" for none.'),
    ext: optional(freeObject({ description: 'Members for the app.' })),
    badge: optional(int32({ description: 'The number to show; absent: unchanged.' })),
    silent: boolean({ description: 'Without sound and vibration.' }),
    collapse_key: optional(string({ description: 'Replaces an earlier one with this key.' })),
    expires_at: int64({ description: 'Not to be displayed after it; milliseconds since 1970.' }),
  }),
} as const
