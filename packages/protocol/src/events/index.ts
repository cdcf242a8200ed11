/**
 * The committed events for devices and other systems, as data: the payload schema of each kind.
 * Rule K14 lists the kinds of contact, group and user events by name.
 */

import type { Int64 } from '../schema.js'
import type { Static } from '../typebox.js'
import { contactEvents } from './contacts.js'
import { conversationEvents } from './conversations.js'
import { groupEvents } from './groups.js'
import { messageEvents } from './messages.js'
import type { DeepReadonly } from './transient.js'
import { userEvents } from './users.js'

export { eventConversation, eventMessage } from './messages.js'

/** The schema of each kind's payload. */
export const eventSchemas = {
  ...contactEvents,
  ...conversationEvents,
  ...groupEvents,
  ...userEvents,
  ...messageEvents,
} as const

export {
  type TransientEvent,
  type TransientEventKind,
  transientEventSchemas,
  typingStates,
} from './transient.js'

/** The kinds of committed events. */
export const committedKinds = Object.keys(eventSchemas).filter(
  (kind): kind is CommittedKind => kind !== 'change.skipped',
)

export { eventKey } from './event-key.js'

/** Subject and past tense of an event, for example `contact.added`. */
export type EventKind = keyof typeof eventSchemas

/** Payload of each kind of event. */
export type EventPayloads = {
  readonly [K in EventKind]: DeepReadonly<Static<(typeof eventSchemas)[K]>>
}

/** Kinds of events that are committed: all but `change.skipped`, which stands for one that the reader does not see. */
export type CommittedKind = Exclude<EventKind, 'change.skipped'>

/** An event of one app. */
export type Event<K extends EventKind = CommittedKind> = {
  readonly [Kind in K]: {
    readonly kind: Kind
    readonly appId: string
    readonly payload: EventPayloads[Kind]
  }
}[K]

/** Kinds of events with an actor: all committed ones but `message.stored`. */
export type ActorEventKind = Exclude<CommittedKind, 'message.stored'>

/** Payload of a kind without the actor and the users. */
export type EventDetails<K extends ActorEventKind> = Omit<EventPayloads[K], 'actor_id' | 'user_ids'>

/** A last parameter that may be omitted when it has no required members. */
export type OptionalWhenEmpty<T extends object> = object extends T ? [details?: T] : [details: T]

/** Builds an event with an actor and users. */
export function actorEvent<K extends ActorEventKind>(
  kind: K,
  about: { readonly appId: string; readonly actorId: Int64; readonly userIds: readonly Int64[] },
  ...[details]: OptionalWhenEmpty<EventDetails<K>>
): Event {
  const { appId, actorId: actor_id, userIds: user_ids } = about
  // The compiler cannot relate the payload to a kind that is a type parameter.
  return { kind, appId, payload: { actor_id, user_ids, ...details } } as unknown as Event
}
