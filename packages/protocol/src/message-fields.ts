import { streamKinds, streamStates } from './enums.js'
import { resource } from './resource.js'
import { array, int32, int64, optional, type Static, stringEnum, Type, text } from './schema.js'

const Reaction = resource('Reaction', 'A reaction to a message, with those who have it.', {
  key: text('what the first user wrote, such as an emoji'),
  count: int32({ description: 'how many users' }),
  latest: array(int64(), { description: 'at most 5 of them, the latest last' }),
})

/**
 * The reactions of the caller to a message, in answers to one user. Events are equal for all readers
 * and do not have it.
 */
export const ownReactions = optional(
  array(text('a reaction'), {
    description: "the caller's own reactions, in the order of their use; absent without any",
  }),
)

const MessagePin = resource('MessagePin', 'The user who pinned a message, and the time.', {
  by: int64({ description: 'the user; 0 = an administrator' }),
  at: int64({ description: 'when, ms' }),
})

const MessageStream = resource(
  'MessageStream',
  'The state of a message that is written piece by piece (rule E19).',
  {
    kind: stringEnum(streamKinds, { description: 'how the text is to be shown' }),
    state: stringEnum(streamStates, {
      description:
        'open: more text follows; interrupted: the service ended it, because nothing came for too long or the sender may not write any more',
    }),
    reason: optional(text('what the sender gave as the reason of the end')),
    next_index: optional(
      int64({ description: 'the index of the next append; in answers while it is open' }),
    ),
    text: optional(
      text(
        'the text so far; in answers to one user while it is open, never in events. Absent where a page would be too large: /message/get has it',
      ),
    ),
  },
)

const reactions = array(Reaction, {
  description: 'in the order of their first use; absent without any',
})
const pinned = MessagePin
const stream = MessageStream

/**
 * Fields of a message that change after the send and are equal for all readers. Each change has a
 * number in the log, and is the event `message.updated`.
 */
export const changeableFields = {
  reactions: optional(reactions),
  pinned: optional(pinned),
  stream: optional(stream),
}

/** Changeable fields with their values. */
export interface ChangeableFields {
  reactions?: Static<typeof reactions>
  pinned?: Static<typeof pinned>
  stream?: Static<typeof stream>
}

/** The name of a changeable field. */
export type ChangeableField = keyof ChangeableFields

/** Changeable fields that a send may set: a message can have them without an alteration. */
export const fieldsOfSends: readonly ChangeableField[] = ['stream']

/** New values of changeable fields; null removes one. */
export const fieldChanges = Type.Object(
  {
    reactions: optional(Type.Union([reactions, Type.Null()])),
    pinned: optional(Type.Union([pinned, Type.Null()])),
    stream: optional(Type.Union([stream, Type.Null()])),
  },
  {
    description:
      'Whole fields of the message with their new values; null removes one. Later versions have more of them.',
  },
)
