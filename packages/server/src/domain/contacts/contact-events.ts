import {
  type Event,
  type EventDetails,
  type NoticeKind,
  notice,
  type OptionalWhenEmpty,
} from '@hermod/protocol/events'
import type { Side } from './contact-model.js'

type ContactEventKind =
  Extract<NoticeKind, `contact.${string}`> extends `contact.${infer Kind}` ? Kind : never

/** The acting user did something that concerns the peer. */
export function contactEvent<K extends ContactEventKind>(
  { appId, userId: actorId, peerId }: Side,
  kind: K,
  ...details: OptionalWhenEmpty<EventDetails<`contact.${K}`>>
): Event {
  return notice<`contact.${K}`>(
    `contact.${kind}`,
    { appId, actorId, userIds: [peerId] },
    ...details,
  )
}
