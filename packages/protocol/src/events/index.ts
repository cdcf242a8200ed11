/**
 * The committed events that devices and other systems get to know, as data: for each kind the schema of its payload. The kinds of
 * contact, group and user events are those that rule K14 lists, by name.
 */

import type { Int64 } from '../schema.js'
import type { Static } from '../typebox.js'
import { contactEvents } from './contacts.js'
import { groupEvents } from './groups.js'
import { messageEvents } from './messages.js'
import { userEvents } from './users.js'

export { eventConversation } from './messages.js'

/** The schema of each kind's payload. */
export const eventSchemas = {
  ...contactEvents,
  ...groupEvents,
  ...userEvents,
  ...messageEvents,
} as const

/** For example `contact.added`: what it is about, and what happened, in the past tense. */
export type EventKind = keyof typeof eventSchemas

type DeepReadonly<T> = { readonly [K in keyof T]: DeepReadonly<T[K]> }

/** What an event of each kind says. */
export type EventPayloads = {
  readonly [K in EventKind]: DeepReadonly<Static<(typeof eventSchemas)[K]>>
}

/** A committed event of one app. */
export type Event<K extends EventKind = EventKind> = {
  readonly [Kind in K]: {
    readonly kind: Kind
    readonly appId: string
    readonly payload: EventPayloads[Kind]
  }
}[K]

/** The kinds that say that somebody did something to users: all but `message.stored`. */
export type ActorEventKind = Exclude<EventKind, 'message.stored'>

/** What the payload of a kind says beside who did it to whom. */
export type EventDetails<K extends ActorEventKind> = Omit<EventPayloads[K], 'actor_id' | 'user_ids'>

/** A last parameter that may be left out where it would say nothing. */
export type OptionalWhenEmpty<T extends object> = object extends T ? [details?: T] : [details: T]

/** The event that somebody did something to users. */
export function actorEvent<K extends ActorEventKind>(
  kind: K,
  about: { readonly appId: string; readonly actorId: Int64; readonly userIds: readonly Int64[] },
  ...[details]: OptionalWhenEmpty<EventDetails<K>>
): Event {
  const { appId, actorId: actor_id, userIds: user_ids } = about
  // The compiler cannot follow the payload through a kind that it does not know.
  return { kind, appId, payload: { actor_id, user_ids, ...details } } as unknown as Event
}
