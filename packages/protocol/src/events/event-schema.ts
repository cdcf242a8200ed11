import { array, int64, type TProperties, Type } from '../schema.js'

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
