/**
 * Events that are never stored: they reach connected clients as they happen, and are dropped first
 * when a connection is slow. They have no change number and are no part of sync.
 */
import { OnlineState } from '../resources/presence.js'
import {
  array,
  boolean,
  freeObject,
  int32,
  int64,
  optional,
  stringEnum,
  Type,
  text,
} from '../schema.js'
import type { Static } from '../typebox.js'
import { eventConversation, messageFields } from './messages.js'

const {
  seq: _seq,
  transaction_id: _transactionId,
  reply_to: _replyTo,
  reactions: _reactions,
  pinned: _pinned,
  stream: _stream,
  ...transientFields
} = messageFields

/** The states of a typing signal: the sender types, or has stopped. */
export const typingStates = ['typing', 'nothing'] as const

/** The schema of each kind's payload. */
export const transientEventSchemas = {
  /** Users of the list of `presence.subscribe` went online or offline in the last second. */
  presence: Type.Object({ users: array(OnlineState) }),
  /** At most one a second for a user and conversation; clients end a state that is not repeated. */
  typing: Type.Object({
    conversation: eventConversation,
    user_id: int64(),
    state: stringEnum(typingStates),
  }),
  /**
   * Text was appended to a message that is being written (rule E19). A client whose text has the
   * length `offset` appends it, one with more drops it, and one with less asks `/message/get`.
   */
  'message.delta': Type.Object({
    conversation: eventConversation,
    msg_id: int64(),
    index: int64({ description: 'the index of the last append in it' }),
    offset: int64({ description: 'where it begins in the text so far, in UTF-16 units' }),
    text: text('the appended text'),
  }),
  /** A reader asks the sender to end a message that is being written; for sessions of the sender. */
  'stream.cancel': Type.Object({
    conversation: eventConversation,
    msg_id: int64(),
    user_id: int64({ description: 'who asks' }),
  }),
  /** The activity of a user, at most once a second; clients end a state that is not repeated. */
  activity: Type.Object({
    conversation: eventConversation,
    user_id: int64(),
    state: text('such as thinking or searching; "": nothing any more'),
    text: text('more about it; "" for none'),
  }),
  /** A message with `online_only`, in the shape of other messages without a position. */
  'message.transient': Type.Object(transientFields),
  /** A push through the own channel, for the device of the session; answered by `push.received`. */
  'push.notification': Type.Object({
    task_id: int64({ description: 'for push.received and /push/report' }),
    kind: stringEnum(['text', 'image', 'cmd'], {
      description: 'cmd: for the app, never displayed',
    }),
    title: text('title; "" for none'),
    body: text('text; "" for none'),
    big_text: text('long text in place of body; "" for none'),
    attachment_url: text('URL of an image, audio or video; "" for none'),
    badge: optional(int32({ description: 'number to show; absent: the badge stays' })),
    ext: optional(freeObject({ description: 'members for the app' })),
    is_silent: boolean({ description: 'true: without sound and vibration' }),
    expires_at: int64({ description: 'not to be shown later, milliseconds since 1970' }),
  }),
} as const

/** The name of a transient event. */
export type TransientEventKind = keyof typeof transientEventSchemas

/** The type with all members at any depth read-only. */
export type DeepReadonly<T> = unknown extends T
  ? T
  : { readonly [K in keyof T]: DeepReadonly<T[K]> }

/** An event that is not stored. */
export type TransientEvent = {
  readonly [K in TransientEventKind]: {
    readonly kind: K
    readonly data: DeepReadonly<Static<(typeof transientEventSchemas)[K]>>
  }
}[TransientEventKind]
