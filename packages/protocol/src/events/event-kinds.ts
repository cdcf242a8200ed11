/** The kinds of events with their payloads. */
import type { Static } from '../typebox.js'
import { contactEvents } from './contacts.js'
import { conversationEvents } from './conversations.js'
import { groupEvents } from './groups.js'
import { messageEvents } from './messages.js'
import type { DeepReadonly } from './transient.js'
import { userEvents } from './users.js'
import { webhookEvents } from './webhooks.js'

/** The schema of each kind's payload. */
export const eventSchemas = {
  ...contactEvents,
  ...conversationEvents,
  ...groupEvents,
  ...userEvents,
  ...messageEvents,
  ...webhookEvents,
} as const

/** Subject and past tense of an event, for example `contact.added`. */
export type EventKind = keyof typeof eventSchemas

/** Payload of each kind of event. */
export type EventPayloads = {
  readonly [K in EventKind]: DeepReadonly<Static<(typeof eventSchemas)[K]>>
}

/**
 * Kinds of events that are committed: all but `change.skipped`, which stands for one that the
 * reader does not see.
 */
export type CommittedKind = Exclude<EventKind, 'change.skipped'>

/** The kinds of committed events. */
export const committedKinds = Object.keys(eventSchemas).filter(
  (kind): kind is CommittedKind => kind !== 'change.skipped',
)
