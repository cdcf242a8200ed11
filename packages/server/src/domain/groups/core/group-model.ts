import { AppError, type AppSettings, type GroupRole, type Int64 } from '@hermod/protocol'
import {
  type ActorEventKind,
  actorEvent,
  type Event,
  type EventDetails,
  type OptionalWhenEmpty,
} from '@hermod/protocol/events'
import { compare } from '../../../lib/compare.js'

/** End of a permanent ban. */
export const permanent = -1
/** Number of kicks beyond which a user needs an admin to come back (rule F6). */
export const maxKicks = 3
/** Maximum number of admins, since their list has no pages. */
export const adminsPerGroup = 500

/** Returns the capacity of a group whose owner has set none. */
export function usualCapacity({
  group_capacity_limit: most,
}: Pick<AppSettings, 'group_capacity_limit'>): number {
  return Math.min(2_000, most)
}

export interface GroupKey {
  readonly appId: string
  readonly groupId: Int64
}

/** Key of a membership. */
export interface MemberKey extends GroupKey {
  readonly userId: Int64
}

/**
 * Returns the keys of rows about users in a group, sorted, so that all bulk statements lock in one
 * order.
 */
export function keysIn({ appId, groupId }: GroupKey, userIds: readonly Int64[]): unknown[][] {
  return [...userIds].sort(compare).map((userId) => [appId, groupId, userId])
}

/** The boolean settings of a group, by their names on the wire. */
export interface GroupFlags {
  readonly hide_member_info: boolean
  readonly history_visible: boolean
  readonly member_invite: boolean
  readonly member_modify: boolean
  readonly read_ack: boolean
}

/** The row of a group, dissolved or not; times in ms unless said otherwise. */
export interface Group extends GroupKey {
  readonly type: number
  readonly status: number
  readonly name: string
  readonly avatar: string
  readonly description: string
  readonly ext: string
  readonly ownerId: Int64
  readonly capacity: Int64
  readonly memberCount: number
  readonly blockCount: number
  /** Includes answered ones. */
  readonly joinRequestCount: number
  readonly applyApproval: number
  readonly flags: GroupFlags
  /** Seconds; 0 = no ban, -1 = permanent */
  readonly banExpiresAt: number
  readonly createdAt: number
  readonly updatedAt: number
  /** Number of changes that all members see; a cached group has an older one. */
  readonly version: number
  /** Time of the newest change of each list of the group, ms. */
  readonly versions: Readonly<Record<GroupList, number>>
}

/** The lists of a group that have a version. */
export type GroupList = 'members' | 'bans' | 'blocks'

/** A membership; times in ms. */
export interface Member {
  readonly userId: Int64
  readonly role: number
  readonly displayName: string
  /** Milliseconds; 0 = no ban, -1 = permanent. It may have passed. */
  readonly banExpiresAt: number
  readonly muteMode: number
  readonly pushMode: number
  readonly joinedAt: number
}

/** A member as a caller sees it. */
export interface SeenMember extends Member {
  readonly isBot: boolean
}

/** An announcement; times in ms. */
export interface GroupAnnouncement {
  readonly groupId: Int64
  readonly announcementId: number
  /** 0: the system */
  readonly authorId: Int64
  readonly title: string
  readonly content: string
  readonly createdAt: number
}

/** Metadata of a file that is shared in a group. */
export interface GroupFile {
  readonly groupId: Int64
  readonly fileId: number
  /** 0: the system */
  readonly uploaderId: Int64
  readonly name: string
  /** Bytes. */
  readonly size: Int64
  readonly type: string
  readonly url: string
  readonly createdAt: number
  readonly updatedAt: number
}

const roles: readonly GroupRole[] = ['member', 'admin', 'owner']

/** Returns the name of a stored role. */
export function roleName(role: number): GroupRole {
  return roles[role] ?? 'member'
}

/** @param until 0 = none, -1 = permanent, else an instant in the unit of `now` */
export function isBanned(until: number, now: number): boolean {
  return until === permanent || until > now
}

/**
 * Number of members that the group's row counts as banned, including ended bans that are not
 * cleared yet.
 */
export function countBans(ends: readonly number[]): number {
  return ends.filter((end) => end !== 0).length
}

/**
 * Returns the end of a ban, ms; -1 stays -1 (rule F5).
 * @throws AppError invalid_parameter naming duration
 */
export function banEnd(minutes: Int64, now: number): number {
  if (minutes === permanent) return permanent
  if (minutes === 0) throw new AppError('invalid_parameter', 'duration must not be 0')
  return now + Number(minutes) * 60_000
}

/** Returns the next updated_at. It is later than the previous one, whatever the clock says. */
export function nextUpdate({ updatedAt }: Group, now: number): number {
  return Math.max(now, updatedAt + 1)
}

/**
 * Returns a group event of rule K14, without a version until it is appended.
 * @param userIds none: the whole group
 */
export function groupEvent<K extends GroupEventKind>(
  { appId, groupId }: GroupKey,
  kind: K,
  actorId: Int64,
  userIds: readonly Int64[],
  ...[details]: OptionalWhenEmpty<GroupEventDetails<K>>
): Event {
  const all = { group_id: groupId, version: 0, ...details } as unknown as EventDetails<`group.${K}`>
  return actorEvent<`group.${K}`>(
    `group.${kind}`,
    { appId, actorId, userIds },
    ...([all] as unknown as OptionalWhenEmpty<EventDetails<`group.${K}`>>),
  )
}

type GroupEventKind =
  Extract<ActorEventKind, `group.${string}`> extends `group.${infer Kind}` ? Kind : never

/** Payload of a kind without the actor, the users and the group. */
export type GroupEventDetails<K extends GroupEventKind> = Omit<
  EventDetails<`group.${K}`>,
  'group_id' | 'version'
>
