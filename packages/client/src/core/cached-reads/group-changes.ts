/**
 * Events of a group, applied to what the client holds of it; undefined: it has to be read. The
 * rules are those of docs/guides/realtime.md.
 */
import { idsOf, type Members, membersOf } from '../logs/wire.js'
import type { ServerEvent } from '../part.js'

const chatroom = 2
const dissolved = 1
const memberRole = 0

/** The parts of a group and of an event that say how far it is. */
interface GroupState {
  readonly version: number
  readonly type?: number
}
interface GroupData {
  readonly version: number
  readonly since_version?: number
}

/** Events that concern some members alone. */
const ownEvents = /applied|created|invit|mute|request|setting/
/** Events of members who come and go. */
const crossings = /joined|left|kicked|\.blocked/
/** Events that leave the version of a chatroom as it is. */
const crowds = /joined|left|presence|absence/

/**
 * - `known`: the value has the event
 * - `next`: it is the next one
 * - `gap`: events before it are missing
 */
export type Step = 'known' | 'next' | 'gap'

/** Tests for an event that all members of a group get. */
export function isSharedEvent({ event }: ServerEvent): boolean {
  return event.startsWith('group.') && !ownEvents.test(event)
}

/** Compares an event with the version of a group that is held; without one there is a gap. */
export function stepOf({ version: local, type }: GroupState, { event, data }: ServerEvent): Step {
  const { version, since_version: since = version - 1 } = data as GroupData
  const isCounted = type !== chatroom || !crowds.test(event)
  if (version < local || (isCounted && version === local)) return 'known'
  return (isCounted ? since : version) <= local ? 'next' : 'gap'
}

/** Returns the group after its next event. */
export function groupAfter(group: Members, { event, data }: ServerEvent): Members {
  const { property, value, member_count: count, updated_at, user_ids, version } = membersOf(data)
  const [owner] = idsOf(user_ids)
  return {
    ...group,
    ...(count !== undefined && { count }),
    ...(updated_at !== undefined && { updated_at }),
    // A display name, and a value that the user may not see, are no fields of the group.
    ...(value !== undefined && (property as string) in group && { [property as string]: value }),
    ...(event === 'group.destroyed' && { status: dissolved }),
    ...(event === 'group.owner_assigned' && { owner_id: owner, owner }),
    version,
  }
}

/** Returns the members of a group after an event, which may be applied twice. */
export function membersAfter(
  members: readonly Members[],
  { event, data }: ServerEvent,
  me: number,
): readonly Members[] | undefined {
  const { property, value, role, expired_time, ...fields } = membersOf(data)
  const { user_ids, join_time, former_owner_id } = fields
  const userIds = idsOf(user_ids)
  const isNamed = ({ user_id }: Members) => userIds.includes(user_id as number)
  if (crossings.test(event)) {
    if (userIds.length === 0) return undefined
    const others = members.filter((each) => !isNamed(each))
    if (event !== 'group.joined') return others
    if (join_time === undefined) return undefined
    const added = userIds.map((user_id) => ({
      ...{ display_name: '', expired_time: 0, join_time, user_id },
      ...{ is_bot: false, role: memberRole },
    }))
    // The order of the server.
    return [...others, ...added].sort((a, b) => (a.user_id as number) - (b.user_id as number))
  }
  if (property === 'hide_member_info') return undefined
  const isName = property === 'display_name'
  // Names of others may be hidden from this user; the own one is not.
  if (isName && value === undefined && userIds.includes(me)) return undefined
  if (!members.some(isNamed)) return members
  return members.map((each) => {
    if (each.user_id === former_owner_id) return { ...each, role: memberRole }
    if (!isNamed(each)) return each
    return {
      ...each,
      ...(isName && value !== undefined && { display_name: value }),
      ...(role !== undefined && { role }),
      ...(expired_time !== undefined && { expired_time }),
    }
  })
}
