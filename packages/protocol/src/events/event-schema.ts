import { array, int64, type TProperties, Type } from '../schema.js'

/** What every event says that somebody did something to users. */
export const actorEventFields = {
  actor_id: int64({ description: 'The user who did it; 0 = an administrator or the system.' }),
  user_ids: array(int64(), {
    description:
      'Whom it happened to, or who is told; of an event of a group empty when it is about the group as a whole.',
  }),
}

/** The payload of an event: {@link actorEventFields} and what its kind adds. */
export function payload<T extends TProperties>(properties: T) {
  return Type.Object({ ...actorEventFields, ...properties })
}
