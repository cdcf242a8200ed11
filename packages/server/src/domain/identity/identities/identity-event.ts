import { actorEvent, type Event } from '@hermod/protocol/events'
import type { IdentityChange } from './identity-service.js'

/** Returns the event of a change to a user's identities. */
export function identityEvent(
  kind: `user.identity_${'linked' | 'unlinked'}`,
  { appId, actorId, userId, issuer, subject }: IdentityChange,
): Event {
  return actorEvent(kind, { appId, actorId, userIds: [userId] }, { issuer, subject })
}
