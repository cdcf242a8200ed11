import type { Int64 } from '@hermod/protocol'
import type { ActorEventKind, Event, EventDetails, EventPayloads } from '@hermod/protocol/events'

/**
 * The words from one person to others that events carry, and what takes their place. All other texts of groups belong to the groups, as
 * messages do.
 */
const texts: { readonly [K in ActorEventKind]?: Partial<EventDetails<K>> } = {
  'contact.applied': { reason: '' },
  'contact.declined': { reason: '' },
  'contact.info_updated': { changed: {} },
  'group.applied': { reason: '' },
  'group.invited': { reason: '' },
  'group.info_updated': { property: '', value: '' },
}

/** The kinds of events that may carry such words. */
export const wordyKinds = Object.keys(texts) as readonly ActorEventKind[]

/** The payload of an event without the words to or from these users; null when it has none. */
export function withoutTexts(
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
  // A change that names users is about their names in the group, also when an administrator made it.
  return isAboutThem || (kind !== 'group.info_updated' && isDeleted(actor_id))
}
