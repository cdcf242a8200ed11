/** The things that events and user changes make stale. */
import type { EventFrame } from '../part.js'

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

/** Returns the keys of an entry in `user` of a sync; none for a kind that this client does not know. */
export function keysOfChange(kind: number, ref: number, me: number): readonly string[] {
  return changeKinds[kind]?.(ref, me) ?? []
}

interface EventMembers {
  readonly actor_id: number
  readonly user_ids: readonly number[]
  readonly group_id: number
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
export function keysOfEvent({ event, data }: EventFrame, me: number): readonly string[] {
  const { actor_id: actor, user_ids: userIds, group_id: group } = data as EventMembers
  for (const [name, kind] of Object.entries(ownEvents))
    if (event.startsWith(name)) return keysOfChange(kind, 0, me)
  if (!Array.isArray(userIds)) return []
  if (event.startsWith('contact.')) {
    const others = (actor === me ? userIds : [actor]).map((id) => `user.${id}`)
    return /info_updated|muted/.test(event) ? others : [...others, 'contacts', 'contactRequests']
  }
  if (!event.startsWith('group.')) return []
  const isConcerned = userIds.includes(me) || actor === me || event === 'group.destroyed'
  const keys = [`group.${group}`, `members.${group}`, `joinRequests.${group}`]
  return isConcerned ? [...keys, 'groups', 'invitations'] : keys
}

/**
 * Returns the group and its version for a change with a value that this member may not see; null:
 * another event. A read would answer what is known, so only the version is news.
 */
export function hiddenChangeOf(
  { event, data }: EventFrame,
  me: number,
): { readonly groupId: number; readonly version: number } | null {
  const { group_id, version, user_ids, value } = Object(data) as Readonly<Record<string, unknown>>
  const isHidden = event === 'group.info_updated' && value === undefined
  if (!isHidden || typeof group_id !== 'number' || typeof version !== 'number') return null
  return Array.isArray(user_ids) && user_ids.includes(me) ? null : { groupId: group_id, version }
}
