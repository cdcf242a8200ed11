/**
 * Things of a user that an event makes stale, so that the client reads them again. Written from the
 * contract, not from the server.
 */
import type { Json } from '@hermod/testkit'

const own: Readonly<Record<string, readonly string[]>> = {
  'user.info_updated': ['profile'],
  'user.settings_updated': ['settings', 'tags'],
  'user.device_added': ['devices'],
  'user.device_removed': ['devices'],
  'user.device_logged_in': ['devices'],
  'user.device_updated': ['devices'],
  'conversation.pinned': ['pins'],
  'conversation.unpinned': ['pins'],
}

/** Events of groups that change the membership of the users that they name. */
const memberships = [
  'group.created',
  'group.joined',
  'group.left',
  'group.kicked',
  'group.blocked',
  'group.owner_assigned',
  'group.admin_granted',
  'group.admin_revoked',
  'group.muted',
  'group.unmuted',
  'group.banned',
  'group.unbanned',
  'group.message_setting',
  'group.info_updated',
]
/** Events after which the users are members, or no members any more. */
const comings = ['group.created', 'group.joined', 'group.presence']
const leavings = ['group.left', 'group.kicked', 'group.blocked', 'group.absence']
/** Events that change the join requests, or the users who may see them. */
const joinRequests = [
  'group.applied',
  'group.request_accepted',
  'group.request_declined',
  'group.joined',
  'group.blocked',
  'group.owner_assigned',
  'group.admin_granted',
  'group.admin_revoked',
  'group.destroyed',
]

/** Events that change the block list, or the users who may see it. */
const blocks = [
  'group.blocked',
  'group.unblocked',
  'group.owner_assigned',
  'group.admin_granted',
  'group.admin_revoked',
  'group.destroyed',
]

export interface Stale {
  /** Keys as in `Answers.things`. */
  readonly things: readonly string[]
  /** A group that the user joined or left. */
  readonly joined?: number
  readonly left?: number
  readonly dissolved?: number
}

/** Returns the things that an event makes stale for the user `me`. */
export function staleAfter(kind: string, data: Json, me: number): Stale {
  const ownThings = own[kind]
  if (ownThings) return { things: ownThings }
  if (kind.startsWith('contact.')) return { things: ofContact(data, me) }
  if (kind.startsWith('group.')) return ofGroup(kind, data, me)
  return { things: [] }
}

function ofContact({ actor_id, user_ids }: Json, me: number): string[] {
  const others: number[] = actor_id === me ? user_ids : [actor_id]
  return others.flatMap((other) => [`contact ${other}`, `contactRequest ${other}`])
}

function ofGroup(kind: string, { group_id, actor_id, user_ids }: Json, me: number): Stale {
  const isConcerned = user_ids.includes(me) || actor_id === me
  const isMoved = user_ids.includes(me) || (user_ids.length === 0 && actor_id === me)
  const things = [`groupData ${group_id}`]
  if (blocks.includes(kind)) things.push(`blocks ${group_id}`)
  const isComing = isMoved && comings.includes(kind)
  const isLeaving = isMoved && leavings.includes(kind)
  const isDissolved = kind === 'group.destroyed'
  if (isConcerned && memberships.includes(kind)) things.push(`group ${group_id}`)
  if (joinRequests.includes(kind) || isComing || isLeaving) things.push(`joinRequests ${group_id}`)
  if (isComing || isLeaving || isDissolved)
    for (const thing of ['joined', 'group', 'invitation', 'blocks'])
      things.push(`${thing} ${group_id}`)
  if (kind === 'group.invited' || kind.startsWith('group.invitation_'))
    things.push(`invitation ${group_id}`)
  return {
    things,
    ...(isComing && { joined: group_id }),
    ...(isLeaving && { left: group_id }),
    ...(isDissolved && { dissolved: group_id }),
  }
}
