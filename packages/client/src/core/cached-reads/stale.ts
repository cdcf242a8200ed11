/** The answers that events and user changes make stale. */
import { idsOf } from '../logs/wire.js'
import type { ServerEvent } from '../part.js'

/** Keys by number of the enumeration userChangeKind. */
const changeKinds: readonly ((ref: number, me: number) => readonly string[])[] = [
  (ref) => [`user.${ref}`, 'contacts'],
  () => ['contactRequests'],
  (ref) => [`group.${ref}`, `members.${ref}`, `joinRequests.${ref}`, 'groups', 'invitations'],
  (ref) => [`joinRequests.${ref}`],
  (ref) => [`group.${ref}`, 'invitations'],
  (_, me) => ['profile', `user.${me}`],
  (_, me) => ['settings', `user.${me}`],
  () => ['devices'],
  () => ['pins'],
]

const ownMembership = 2
const joinRequests = 3

/** Returns the keys of an entry in `user` of a sync; none for a kind that this client does not know. */
export function keysOfChange(kind: number, ref: number, me: number): readonly string[] {
  return changeKinds[kind]?.(ref, me) ?? []
}

interface EventMembers {
  readonly actor_id: number
  readonly user_ids: readonly number[]
  readonly group_id: number
  readonly former_owner_id?: number
}

/** Events that mean the same as a user change: by the beginning of the name, the kind of change. */
const ownEvents = {
  'user.info_updated': 5,
  'user.settings_updated': 6,
  'user.device_': 7,
  'conversation.pinned': 8,
  'conversation.unpinned': 8,
}

/** Returns the keys that an event makes stale. */
export function keysOfEvent({ event, data }: ServerEvent, me: number): readonly string[] {
  const { actor_id: actor, user_ids: userIds, group_id: group } = data as EventMembers
  for (const [name, kind] of Object.entries(ownEvents))
    if (event.startsWith(name)) return keysOfChange(kind, 0, me)
  if (!Array.isArray(userIds)) return []
  if (event.startsWith('contact.')) {
    const others = (actor === me ? userIds : [actor]).map((id) => `user.${id}`)
    return /info_updated|muted/.test(event) ? others : [...others, 'contacts', 'contactRequests']
  }
  if (!event.startsWith('group.')) return []
  const isConcerned = userIds.includes(me) || actor === me
  return keysOfChange(isConcerned ? ownMembership : joinRequests, group, me)
}

/** Returns the keys that an event for all members makes stale, because it concerns the own user. */
export function keysOfOwnChange(frame: ServerEvent, me: number): readonly string[] {
  const { user_ids: userIds, group_id: group, former_owner_id: former } = frame.data as EventMembers
  if (former !== me && !idsOf(userIds).includes(me)) return []
  if (/joined|left|kicked|blocked|ence$/.test(frame.event)) return keysOfEvent(frame, me)
  // Another role sees other names and requests.
  return /admin_|owner_/.test(frame.event) ? [`members.${group}`, `joinRequests.${group}`] : []
}
