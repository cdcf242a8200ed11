import type { userChangeKind } from '../enums.js'
import { array, int64, type Static, type TProperties, type TSchema, Type } from '../schema.js'

/**
 * The users that an event is sent to, all their devices included:
 * - `log`: the readers of the conversation; the event has the number of a change
 * - `actor`: who did it
 * - `users`: those in `user_ids`
 * - `both`: the actor and those in `user_ids`
 * - `group`: the members of the group and those in `user_ids`
 * - `admins`: owner and admins of the group
 * - `applicants`: owner and admins of the group, the actor and those in `user_ids`
 * - `none`: no device; devices learn the same from heads and positions
 */
export type EventAudience =
  | 'log'
  | 'actor'
  | 'users'
  | 'both'
  | 'group'
  | 'admins'
  | 'applicants'
  | 'none'

/**
 * The users whose data an event changes; `both`: the actor and the users; `owners`: the new and
 * the former owner. The payload does not name these, so the code that appends the event does:
 * - `managers`: owner and admins of the group, who answer its join requests and block users
 * - `invitees`: users with an invitation that the event has answered or closed
 */
export type ConcernedUsers = 'actor' | 'users' | 'both' | 'owners' | 'managers' | 'invitees'

/** The name of a thing of a user that clients read again. */
export type UserChangeName = Extract<keyof typeof userChangeKind, string>

/** Everything about a kind of event that other code derives its tables from. */
export interface EventDefinition<
  Payload extends TSchema = TSchema,
  Audience extends EventAudience = EventAudience,
> {
  readonly payload: Payload
  /** Returns the key; events with the same key are delivered in their order. */
  key(payload: Static<Payload>): string
  readonly audience: Audience
  /** The things that clients read again after an absence, and whose they are. */
  readonly userChanges: Readonly<Partial<Record<UserChangeName, ConcernedUsers>>>
  /** Replacements of texts that the erasure of a deleted user removes; absent: there are none. */
  readonly personalTexts?: Partial<Static<Payload>>
  /** The operations that may append the event; empty: the service does on its own. */
  readonly causedBy: readonly string[]
}

/** Defines a kind of event. */
export function event<P extends TSchema, A extends EventAudience>(
  definition: EventDefinition<P, A>,
): EventDefinition<P, A> {
  return definition
}

/** Fields of every event about an action on users. */
export const actorEventFields = {
  actor_id: int64({ description: 'The user who did it; 0 = an administrator or the system.' }),
  user_ids: array(int64(), {
    description:
      'The users concerned, or those who are notified; empty for an event about a group as a whole. Sessions of others than the actor, members of the group and parties of the conversation find only their own user in it.',
  }),
}

/** The payload of an event: {@link actorEventFields} and the fields of its kind. */
export function payload<T extends TProperties>(properties: T) {
  return Type.Object({ ...actorEventFields, ...properties })
}
