import type { Int64 } from '@hermod/protocol'
import {
  type ActorEventKind,
  committedKinds,
  type Event,
  eventDefinition,
  type EventPayloads,
} from '@hermod/protocol/events'

/** A kind of event with reactions of users. */
const reactionKinds = ['message.reaction', 'message.updated'] as const

/** A kind of event that may contain personal texts. */
export type PersonalTextKind = ActorEventKind | (typeof reactionKinds)[number]

/**
 * Kinds of events that may contain personal texts. All other texts in groups belong to the group,
 * as messages do.
 */
export const personalTextKinds: readonly PersonalTextKind[] = [
  ...committedKinds.filter(
    (kind): kind is ActorEventKind => eventDefinition(kind).personalTexts !== undefined,
  ),
  ...reactionKinds,
]

/** Texts of a user to a group, which a deletion leaves and an erasure removes. */
const groupTexts: Partial<Record<ActorEventKind, object>> = {
  'group.announcement_updated': { title: '' },
  'group.file_uploaded': { name: '' },
  'group.file_updated': { name: '' },
  'group.file_deleted': { name: '' },
}

/** Kinds of events with texts that an erasure removes. */
export const erasedTextKinds: readonly PersonalTextKind[] = [
  ...personalTextKinds,
  ...(Object.keys(groupTexts) as ActorEventKind[]),
]

/**
 * Returns the payload of an event without all texts of these users; null when there are none.
 */
export function erased(
  event: Event,
  userIds: ReadonlySet<Int64>,
): EventPayloads[ActorEventKind] | null {
  const changed = withoutTexts(event, userIds)
  return JSON.stringify(changed) === JSON.stringify(event.payload) ? null : changed
}

function withoutTexts(
  event: Event,
  userIds: ReadonlySet<Int64>,
): EventPayloads[ActorEventKind] | null {
  const { kind, payload } = event
  const texts = groupTexts[kind as ActorEventKind]
  if (texts === undefined) return redacted(event, userIds)
  const isOwn = 'actor_id' in payload && userIds.has(payload.actor_id)
  return isOwn ? ({ ...payload, ...texts } as EventPayloads[ActorEventKind]) : null
}

/**
 * Returns the payload of an event without the personal texts of these users; null when there are
 * none.
 */
export function redacted(
  event: Event,
  userIds: ReadonlySet<Int64>,
): EventPayloads[ActorEventKind] | null {
  if ('reacted' in event.payload) return withoutReactions(event.payload, userIds)
  if (event.kind === 'message.stored' || !isAbout(event, userIds)) return null
  return { ...event.payload, ...(eventDefinition(event.kind).personalTexts as object) }
}

/** The event without the reactions of the users. */
function withoutReactions(
  payload: EventPayloads['message.reaction'],
  userIds: ReadonlySet<Int64>,
): EventPayloads['message.reaction'] | null {
  const reacted = payload.reacted.filter(({ user_id }) => !userIds.has(user_id))
  return reacted.length === payload.reacted.length ? null : { ...payload, reacted }
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
