/**
 * The committed events for devices and other systems, as data: a definition of each kind.
 * Rule K14 lists the kinds of contact, group and user events by name.
 */

import type { Int64 } from '../schema.js'
import type { CommittedKind, EventKind, EventPayloads } from './event-kinds.js'

export type {
  ConcernedUsers,
  EventAudience,
  EventDefinition,
  UserChangeName,
} from './event-definition.js'
export {
  type CommittedKind,
  committedKinds,
  eventDefinition,
  eventDefinitions,
  eventKey,
  type EventKind,
  eventKinds,
  type EventPayloads,
  eventSchemas,
  type KindWith,
} from './event-kinds.js'
export { groupProperties } from './groups.js'
export { eventConversation, eventMessage } from './messages.js'

export {
  type TransientEvent,
  type TransientEventKind,
  transientEventSchemas,
  typingStates,
} from './transient.js'

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
