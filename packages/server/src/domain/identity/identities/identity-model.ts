import type { Int64 } from '@hermod/protocol'
import { actorEvent, type Event } from '@hermod/protocol/events'

/** A subject as its issuer names it; texts are compared byte for byte. */
export interface Subject {
  readonly appId: string
  readonly issuer: string
  readonly subject: string
}

/** A subject to link to a user, or to unlink. */
export interface IdentityChange extends Subject {
  readonly userId: Int64
  /** The user, or the system for an Admin token. */
  readonly actorId: Int64
}

/** Returns the event of a change to a user's identities. */
export function identityEvent(
  kind: `user.identity_${'linked' | 'unlinked'}`,
  { appId, actorId, userId, issuer, subject }: IdentityChange,
): Event {
  return actorEvent(kind, { appId, actorId, userIds: [userId] }, { issuer, subject })
}
