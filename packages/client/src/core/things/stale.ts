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
  readonly version: number
}

const own: Readonly<Record<string, readonly string[]>> = {
  'user.device_added': ['devices'],
  'user.device_removed': ['devices'],
  'user.device_logged_in': ['devices'],
  'user.device_updated': ['devices'],
  'conversation.pinned': ['pins'],
  'conversation.unpinned': ['pins'],
}

const moves = /^group\.(created|joined|presence|left|kicked|blocked|absence|destroyed)$/
/** Events that change a group for the own user, or without a new version. */
const withoutVersion = /^group\.(presence|absence|muted|unmuted|message_setting)$/

/**
 * Returns the keys that an event makes stale.
 * @param versionOf the version of a group in the last answer about it; -1: none
 */
export function keysOfEvent(
  { event, data }: EventFrame,
  me: number,
  versionOf: (groupId: number) => number,
): readonly string[] {
  const { actor_id: actor, user_ids: userIds, group_id: group, version } = data as EventMembers
  if (event === 'user.info_updated') return ['profile', `user.${me}`]
  if (event === 'user.settings_updated') return ['settings', `user.${me}`]
  const ownKeys = own[event]
  if (ownKeys || !Array.isArray(userIds)) return ownKeys ?? []
  if (event.startsWith('contact.')) {
    const others = (actor === me ? userIds : [actor]).map((id) => `user.${id}`)
    return /info_updated|muted/.test(event) ? others : [...others, 'contacts', 'contactRequests']
  }
  if (!event.startsWith('group.')) return []
  const keys = [`members.${group}`, `joinRequests.${group}`]
  const isMoved = userIds.includes(me) || actor === me || event === 'group.destroyed'
  if (isMoved && moves.test(event)) keys.push('groups')
  if (isMoved) keys.push('invitations')
  if (withoutVersion.test(event) || keys.includes('groups') || !(version <= versionOf(group)))
    keys.push(`group.${group}`)
  return keys
}
