import type { Int64 } from '@hermod/protocol'
import type { ActorEventKind, Event, EventDetails, EventPayloads } from '@hermod/protocol/events'

/**
 * Personal texts of events, with their replacements. All other texts in groups belong to the group,
 * as messages do.
 */
const texts: { readonly [K in ActorEventKind]?: Partial<EventDetails<K>> } = {
  'contact.applied': { reason: '' },
  'contact.declined': { reason: '' },
  'contact.info_updated': { changed: {} },
  'group.applied': { reason: '' },
  'group.invited': { reason: '' },
  'group.info_updated': { property: '', value: '' },
  'user.info_updated': { changed: {} },
}

/** Kinds of events that may contain personal texts. */
export const personalTextKinds = Object.keys(texts) as readonly ActorEventKind[]

/**
 * Returns the payload of an event without the personal texts of these users; null when there are
 * none.
 */
export function redacted(
  event: Event,
  userIds: ReadonlySet<Int64>,
): EventPayloads[ActorEventKind] | null {
  if (event.kind === 'message.stored' || !isAbout(event, userIds)) return null
  return { ...event.payload, ...texts[event.kind] }
}

function isAbout({ kind, payload }: Event<ActorEventKind>, userIds: ReadonlySet<Int64>): boolean {
  const isDeleted = (userId: Int64) => userIds.has(userId)
  const { actor_id, user_ids } = payload
  if (!kind.startsWith('group.')) return [actor_id, ...user_ids].some(isDeleted)
  const isAboutThem = user_ids.length > 0 && user_ids.every(isDeleted)
  // An event that names users is about their names in the group, even when an administrator caused
  // it.
  return isAboutThem || (kind !== 'group.info_updated' && isDeleted(actor_id))
}
