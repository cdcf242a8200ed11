import {
  AppError,
  type ErrorName,
  type GroupRightName,
  type GroupStanding,
  groupRights,
  groupStandings,
  type Int64,
} from '@hermod/protocol'
import type { Database, Executor, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import { LockedUsers, type UserLocker } from '../accounts/locked-users.js'
import type { GroupFacts } from './group-facts.js'
import { type Group, type GroupFlags, type GroupKey, groupStatus, groupType, type Member, standingOfRole } from './group-model.js'
import type { GroupStore } from './group-store.js'
import type { MemberStore } from './member-store.js'

export interface GroupAccessOptions {
  readonly database: Database
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly users: UserLocker
  readonly facts: GroupFacts
  readonly clock: Clock
}

/** Who calls about groups (decisions C3 to C5). */
export interface GroupCaller {
  readonly appId: string
  /** The user that the call is made for; null for an Admin token alone. */
  readonly userId: Int64 | null
  readonly isAdminToken: boolean
  /** The group that an Admin token is an admin of, from the group_id header. */
  readonly adminOf: Int64 | null
  /** Who is named as the one who did it: the user, or the system. */
  readonly actorId: Int64
}

/** A group as a caller meets it. */
export interface Scene {
  readonly caller: GroupCaller
  readonly group: Group
  /** The caller's own membership. */
  readonly member: Member | null
  readonly standing: GroupStanding
  /** Milliseconds since 1970. */
  readonly now: number
}

export interface LockedScene extends Scene {
  /** The users that were asked for. */
  readonly users: LockedUsers
}

const requiredBy: Readonly<Record<GroupStanding, ErrorName>> = {
  outsider: 'not_group_member',
  member: 'member_required',
  admin: 'group_admin_required',
  owner: 'group_owner_required',
}

/** Joining and what is one's own depend on being a user, whatever the rights of an Admin token. */
const personalRights: ReadonlySet<GroupRightName> = new Set(['own', 'join'])

/** The one way into a group: it finds the group, judges the caller by the table of rights, and keeps changes of one group in a row. */
export class GroupAccess {
  constructor(private readonly options: GroupAccessOptions) {}

  /**
   * Runs a change with the group locked, and lets it be felt at once. `work` may run more than once.
   * @param userIds users to be locked before the group, as whoever gives them something must; they are forgotten afterwards
   * @throws AppError group_not_found, and what the right asks for
   */
  async change<T>(
    caller: GroupCaller,
    groupId: Int64,
    right: GroupRightName,
    { userIds = [], touchedIds = [] }: { readonly userIds?: readonly Int64[]; readonly touchedIds?: readonly Int64[] },
    work: (tx: Tx, scene: LockedScene) => Promise<T>,
  ): Promise<T> {
    const { database, groups, users: locker, facts } = this.options
    const key = { appId: caller.appId, groupId }
    try {
      return await database.transaction(async (tx) => {
        const users = await LockedUsers.lock(tx, locker, caller.appId, userIds)
        const scene = await this.#enter(tx, caller, await groups.lock(tx, key), right)
        return work(tx, { ...scene, users })
      })
    } finally {
      // Also after a failure, which may leave open whether it was committed.
      facts.forget(key, new Set([...userIds, ...touchedIds, ...(caller.userId === null ? [] : [caller.userId])]))
    }
  }

  /** @throws AppError group_not_found, and what the right asks for */
  async read<T>(caller: GroupCaller, groupId: Int64, right: GroupRightName, work: (db: Executor, scene: Scene) => Promise<T>): Promise<T> {
    const { database, groups } = this.options
    return database.read(async (db) => {
      const group = await groups.find(db, { appId: caller.appId, groupId })
      return work(db, await this.#enter(db, caller, group, right))
    })
  }

  /** The caller's standing in a group of which the caller's own membership is known. */
  standingOf(caller: GroupCaller, { groupId }: GroupKey, member: Member | null): GroupStanding {
    const own = member ? standingOfRole(member.role) : 'outsider'
    if (!caller.isAdminToken) return own
    if (caller.adminOf === groupId) return isBelow(own, 'admin') ? 'admin' : own
    return caller.userId === null ? 'owner' : own
  }

  async #enter(db: Executor, caller: GroupCaller, group: Group | null, right: GroupRightName): Promise<Scene> {
    const { members, clock } = this.options
    if (!group) throw new AppError('group_not_found')
    const member = caller.userId === null ? null : await members.find(db, group, caller.userId)
    const scene = { caller, group, member, standing: this.standingOf(caller, group, member), now: clock.now() }
    // What a dissolved group was stays readable for those who were members (decision F8).
    if (group.status === groupStatus.dissolved && !(right === 'info' && scene.standing !== 'outsider'))
      throw new AppError('group_not_found')
    const refusal = refusalOf(scene, right)
    if (refusal === null) return scene
    if (opensToOutsiders(right) && (await this.#isInvited(db, scene))) return scene
    throw new AppError(refusal)
  }

  async #isInvited(db: Executor, { caller, group, now }: Scene): Promise<boolean> {
    return caller.userId !== null && (await this.options.members.isInvited(db, group, caller.userId, now))
  }
}

/** Why the caller has not the right, or null. */
export function refusalOf(
  { group, member, standing }: Pick<Scene, 'group' | 'member' | 'standing'>,
  right: GroupRightName,
): ErrorName | null {
  if (right === 'own' && !member) return 'not_group_member'
  if (personalRights.has(right)) return null
  if (opensToOutsiders(right) && (group.type === groupType.public || group.type === groupType.chatroom)) return null
  const from = lowestStanding(right, group.flags)
  return isBelow(standing, from) ? requiredBy[from] : null
}

/** The lowest standing that has the right in a group with these settings. */
export function lowestStanding(right: GroupRightName, flags: GroupFlags): GroupStanding {
  const definition: { readonly from: GroupStanding; readonly membersWith?: 'member_invite' | 'member_modify' } = groupRights[right]
  return definition.membersWith !== undefined && flags[definition.membersWith] ? 'member' : definition.from
}

export function isBelow(a: GroupStanding, b: GroupStanding): boolean {
  return groupStandings.indexOf(a) < groupStandings.indexOf(b)
}

/** Whether somebody of this standing may do something to the user: only to those below, so never to oneself. */
export function mayActOn(standing: GroupStanding, target: Member | null): boolean {
  return isBelow(target ? standingOfRole(target.role) : 'outsider', standing)
}

function opensToOutsiders(right: GroupRightName): boolean {
  return 'opensToOutsiders' in groupRights[right]
}
