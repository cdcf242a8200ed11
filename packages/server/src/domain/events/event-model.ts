import type { Int64 } from '@hermod/protocol'

/**
 * A committed fact that connected devices and other systems are told of. The kinds of contact and user notices are those of the
 * clients' tables (document 3, part 2.10), by name.
 */
export interface Event {
  readonly appId: string
  /** For example `contact.added`: what it is about, and what happened, in the past tense. */
  readonly kind: EventKind
  /** Who did it: the accepter, the remover, the administrator (0). */
  readonly actorId: Int64
  /** Whom it happened to. */
  readonly userIds: readonly Int64[]
  /** The changed fields, or a text; '' when there is nothing more to say. */
  readonly content: string
}

export const eventKinds = [
  'contact.added',
  'contact.removed',
  'contact.accepted',
  'contact.declined',
  'contact.blocked',
  'contact.unblocked',
  'contact.applied',
  'contact.info_updated',
  'contact.muted',
  'contact.unmuted',
  'user.password_changed',
  'user.frozen',
  'user.removed',
  'user.kicked',
  'user.info_updated',
  'user.device_logged_in',
  'user.device_added',
  'user.device_removed',
  'message.read',
  'message.read_all',
  'message.recalled',
  'message.appended',
  'message.replaced',
  'message.delivered',
] as const

export type EventKind = (typeof eventKinds)[number]
