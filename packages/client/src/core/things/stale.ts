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
  const isConcerned = userIds.includes(me) || actor === me
  const keys = [`joinRequests.${group}`]
  return isConcerned
    ? [...keys, `group.${group}`, `members.${group}`, 'groups', 'invitations']
    : keys
}

/** Events that give a user a role, or take it: other names and requests are visible then. */
const roleEvents = /^group\.(admin_granted|admin_revoked|owner_assigned)$/
/** Events that make a user a member, or end that. */
const membershipEvents = /^group\.(created|joined|left|kicked|blocked|presence|absence)$/

/** Returns the keys that an event for all members makes stale, because it concerns the own user. */
export function keysOfOwnChange({ event, data }: EventFrame, me: number): readonly string[] {
  const {
    user_ids: userIds,
    group_id: group,
    former_owner_id: former,
  } = Object(data) as {
    readonly [member: string]: unknown
  }
  const isNamed = former === me || (Array.isArray(userIds) && userIds.includes(me))
  if (!isNamed) return []
  if (membershipEvents.test(event)) return keysOfEvent({ event, data }, me)
  return roleEvents.test(event) ? [`members.${group}`, `joinRequests.${group}`] : []
}
