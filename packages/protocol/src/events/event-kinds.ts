/** The kinds of events with their definitions and payloads. */
import { mapValues } from '../json-schema.js'
import type { Static } from '../typebox.js'
import { contactEvents } from './contacts.js'
import { conversationEvents } from './conversations.js'
import type { EventDefinition } from './event-definition.js'
import { groupEvents } from './groups.js'
import { importEvents } from './imports.js'
import { messageEvents } from './messages.js'
import type { DeepReadonly } from './transient.js'
import { userEvents } from './users.js'
import { webhookEvents } from './webhooks.js'

/** The definition of each kind. */
export const eventDefinitions = {
  ...contactEvents,
  ...conversationEvents,
  ...groupEvents,
  ...userEvents,
  ...messageEvents,
  ...importEvents,
  ...webhookEvents,
} as const

type Definitions = typeof eventDefinitions

/** Subject and past tense of an event, for example `contact.added`. */
export type EventKind = keyof Definitions

/** The kinds whose definition has these members, for example the audience `log`. */
export type KindWith<Members extends object> = {
  [K in EventKind]: Definitions[K] extends Members ? K : never
}[EventKind]

/** Payload of each kind of event. */
export type EventPayloads = {
  readonly [K in EventKind]: DeepReadonly<Static<Definitions[K]['payload']>>
}

/**
 * Kinds of events that are appended with their payload, and that other systems get: all but
 * `change.skipped`, which stands for one that the reader does not see, and `message.updated`, whose
 * values are read when it is delivered to devices.
 */
export type CommittedKind = Exclude<EventKind, 'change.skipped' | 'message.updated'>

/** The kinds of all events, in the order of the reference. */
export const eventKinds = Object.keys(eventDefinitions) as readonly EventKind[]

/** The kinds of committed events. */
export const committedKinds = eventKinds.filter(
  (kind): kind is CommittedKind => kind !== 'change.skipped' && kind !== 'message.updated',
)

/** The schema of each kind's payload. */
export const eventSchemas = mapValues(eventDefinitions, ({ payload }) => payload) as {
  readonly [K in EventKind]: Definitions[K]['payload']
}

/** Returns the definition of a kind, without the type of its payload. */
export function eventDefinition(kind: EventKind): EventDefinition {
  return eventDefinitions[kind]
}

/**
 * Returns the key of an event: `g:<group>`, `d:<low>:<high>` of two users, `u:<user>`, or `app`.
 * Events with the same key are delivered in their order.
 */
export function eventKey<K extends EventKind>({
  kind,
  payload,
}: {
  readonly kind: K
  readonly payload: EventPayloads[K]
}): string {
  return eventDefinition(kind).key(payload)
}
