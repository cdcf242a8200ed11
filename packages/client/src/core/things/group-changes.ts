/**
 * Events of a group, applied to what the client holds of it. A value that is not returned has to be
 * read. The rules are those of docs/guides/realtime.md.
 */
import { countOf, idsOf, type Members, membersOf } from '../logs/wire.js'
import type { EventFrame } from '../part.js'

const chatroom = 2
const roles = { member: 0, admin: 1, owner: 2 }

/** Events that leave the version as it is. */
const uncounted = new Set(['group.presence', 'group.absence'])
/** Events that leave it in chatrooms. */
const crowds = new Set(['group.joined', 'group.left'])
/** Events that change the list of members in ways that {@link membersAfter} knows. */
const memberChanges = new Set([
  ...['group.joined', 'group.left', 'group.kicked', 'group.blocked', 'group.destroyed'],
  ...['group.admin_granted', 'group.admin_revoked', 'group.owner_assigned'],
  ...['group.banned', 'group.unbanned', 'group.info_updated'],
])
/** Events that change neither the group nor its members. */
const otherChanges = new Set([
  ...['group.presence', 'group.absence', 'group.announcement_updated', 'group.unblocked'],
  ...['group.file_uploaded', 'group.file_deleted', 'group.file_updated'],
])

/**
 * - `known`: the value has the event
 * - `next`: it is the next one
 * - `gap`: events before it are missing
 */
export type Step = 'known' | 'next' | 'gap'

/** Tests for an event that all members of a group get, and that changes nothing of one user alone. */
export function isShared({ event }: EventFrame): boolean {
  return memberChanges.has(event) || otherChanges.has(event)
}

/** Compares an event with the version of a group that is held. */
export function stepOf(group: Members, { event, data }: EventFrame): Step {
  const { version, since_version: since } = membersOf(data)
  const [local, next] = [countOf(group.version), countOf(version)]
  if (local === undefined || next === undefined) return 'gap'
  const isUncounted = uncounted.has(event) || (group.type === chatroom && crowds.has(event))
  if (isUncounted) return next === local ? 'next' : next < local ? 'known' : 'gap'
  if (next <= local) return 'known'
  return (countOf(since) ?? next - 1) <= local ? 'next' : 'gap'
}

/** Returns the group after its next event; undefined: it has to be read. */
export function groupAfter(group: Members, { event, data }: EventFrame): Members | undefined {
  const members = membersOf(data)
  const fields = fieldsOf(event, members)
  return fields && { ...group, ...fields, version: members.version }
}

/** Fields of the group that an event changes; undefined: it does not say. */
function fieldsOf(event: string, data: Members): Members | undefined {
  const { property, value, member_count: count, updated_at: updatedAt, user_ids: userIds } = data
  switch (event) {
    case 'group.info_updated':
      // Display names, and values that the user may not see, are no fields of the group.
      if (property === 'display_name' || property === '' || value === undefined) return {}
      return typeof property === 'string' && updatedAt !== undefined
        ? { [property]: value, updated_at: updatedAt }
        : undefined
    case 'group.joined':
    case 'group.left':
    case 'group.kicked':
    case 'group.blocked':
      return count === undefined ? undefined : { count }
    case 'group.destroyed':
      return updatedAt === undefined ? undefined : { status: 1, updated_at: updatedAt }
    case 'group.owner_assigned': {
      const [owner] = idsOf(userIds)
      return updatedAt === undefined || owner === undefined
        ? undefined
        : { owner_id: owner, owner, updated_at: updatedAt }
    }
    default:
      return {}
  }
}

/** Returns the members of a group after an event, which may be applied twice; undefined: they have to be read. */
export function membersAfter(
  members: readonly Members[],
  { event, data }: EventFrame,
  me: number,
): readonly Members[] | undefined {
  if (!memberChanges.has(event)) return members
  const fields = membersOf(data)
  const userIds = idsOf(fields.user_ids)
  const change = (changes: Members) => withChanges(members, userIds, changes)
  switch (event) {
    case 'group.destroyed':
      return []
    case 'group.info_updated':
      return afterUpdate(members, fields, me)
    case 'group.owner_assigned': {
      const former = withChanges(members, [Number(fields.former_owner_id)], { role: roles.member })
      return withChanges(former, userIds, { role: roles.owner, expired_time: 0 })
    }
    case 'group.admin_granted':
      return change({ role: roles.admin })
    case 'group.admin_revoked':
      return change({ role: roles.member })
    case 'group.unbanned':
      return change({ expired_time: 0 })
    case 'group.banned':
      return fields.expired_time === undefined
        ? undefined
        : change({ expired_time: fields.expired_time })
    default:
      if (userIds.length === 0) return undefined
      return event === 'group.joined'
        ? withMembers(members, userIds, fields.join_time)
        : members.filter(({ user_id: id }) => !userIds.includes(Number(id)))
  }
}

function afterUpdate(
  members: readonly Members[],
  { property, value, user_ids: ids }: Members,
  me: number,
): readonly Members[] | undefined {
  if (property === 'hide_member_info') return undefined
  if (property !== 'display_name') return members
  const userIds = idsOf(ids)
  // Others' names are hidden from this user; the own one is not.
  if (value === undefined) return userIds.includes(me) ? undefined : members
  return withChanges(members, userIds, { display_name: value })
}

function withChanges(
  members: readonly Members[],
  userIds: readonly number[],
  changes: Members,
): readonly Members[] {
  return members.map((each) =>
    userIds.includes(Number(each.user_id)) ? { ...each, ...changes } : each,
  )
}

/** Adds members in the order of their IDs, which is that of the server. */
function withMembers(
  members: readonly Members[],
  userIds: readonly number[],
  joinTime: unknown,
): readonly Members[] | undefined {
  if (joinTime === undefined) return undefined
  const others = members.filter(({ user_id: id }) => !userIds.includes(Number(id)))
  const added = userIds.map((user_id) => ({
    display_name: '',
    expired_time: 0,
    join_time: joinTime,
    user_id,
    role: roles.member,
  }))
  return [...others, ...added].sort((a, b) => Number(a.user_id) - Number(b.user_id))
}
