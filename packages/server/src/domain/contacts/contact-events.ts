import {
  type ActorEventKind,
  actorEvent,
  type Event,
  type EventDetails,
  type OptionalWhenEmpty,
} from '@hermod/protocol/events'
import type { ContactSide } from './contact-model.js'

type ContactEventKind =
  Extract<ActorEventKind, `contact.${string}`> extends `contact.${infer Kind}` ? Kind : never

/** An action of one user that concerns a peer. */
export function contactEvent<K extends ContactEventKind>(
  { appId, userId: actorId, peerId }: ContactSide,
  kind: K,
  ...details: OptionalWhenEmpty<EventDetails<`contact.${K}`>>
): Event {
  return actorEvent<`contact.${K}`>(
    `contact.${kind}`,
    { appId, actorId, userIds: [peerId] },
    ...details,
  )
}
