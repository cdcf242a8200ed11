import {
  AppError,
  type ErrorName,
  type GroupRight,
  type GroupRightName,
  type GroupStanding,
  groupRights,
  groupStandings,
  type Int64,
  standingErrors,
} from '@hermod/protocol'
import type { Database, Executor, Tx } from '../../../db/database.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Clock } from '../../../lib/clock.js'
import { LockedUsers, type UserLocker } from '../../users/locked-users.js'
import type { GroupFacts } from './group-cache.js'
import {
  type Group,
  type GroupFlags,
  type GroupKey,
  groupStatus,
  groupType,
  type Member,
  standingOfRole,
} from './group-model.js'
import type { GroupStore } from './group-store.js'
import type { MemberStore } from '../membership/member-store.js'

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

/** So many groups are looked up by one statement, between which other calls have their turn. */
const lookUpChunk = 1_000

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
    {
      userIds = [],
      touchedIds = [],
    }: { readonly userIds?: readonly Int64[]; readonly touchedIds?: readonly Int64[] },
    work: (tx: Tx, scene: LockedScene) => Promise<T>,
  ): Promise<T> {
    const { database, groups, users: locker, facts } = this.options
    const key = { appId: caller.appId, groupId }
    // Nobody's row is locked for a caller who may not do it.
    if (userIds.length > 0) await this.read(caller, groupId, right, async () => {})
    try {
      return await database.transaction(async (tx) => {
        const users = await LockedUsers.claim(tx, locker, caller.appId, userIds)
        const scene = await this.#enter(tx, caller, await groups.lock(tx, key), right)
        return work(tx, { ...scene, users })
      })
    } finally {
      // Also after a failure, which may leave open whether it was committed.
      facts.forget(
        key,
        new Set([...userIds, ...touchedIds, ...(caller.userId === null ? [] : [caller.userId])]),
      )
    }
  }

  /** @throws AppError group_not_found, and what the right asks for */
  async read<T>(
    caller: GroupCaller,
    groupId: Int64,
    right: GroupRightName,
    work: (db: Executor, scene: Scene) => Promise<T>,
  ): Promise<T> {
    const { database, groups } = this.options
    return database.read(async (db) => {
      const group = await groups.find(db, { appId: caller.appId, groupId })
      return work(db, await this.#enter(db, caller, group, right))
    })
  }

  /**
   * Looks into several groups; those that do not exist, or in which the caller has not the right, are left out.
   * @returns the others, in the order of the list and each once
   */
  async readMany(
    caller: GroupCaller,
    groupIds: readonly Int64[],
    right: GroupRightName,
  ): Promise<Scene[]> {
    const distinct = [...new Set(groupIds)]
    const scenes: Scene[] = []
    for (const chunk of chunksOf(distinct, lookUpChunk))
      scenes.push(...(await this.#readChunk(caller, chunk, right)))
    return scenes
  }

  async #readChunk(
    caller: GroupCaller,
    groupIds: readonly Int64[],
    right: GroupRightName,
  ): Promise<Scene[]> {
    const { database, groups, members, clock } = this.options
    const { appId, userId } = caller
    const now = clock.now()
    return database.read(async (db) => {
      const known = await groups.findMany(db, appId, groupIds)
      const own =
        userId === null
          ? new Map<Int64, Member>()
          : await members.findOwn(db, appId, userId, [...known.keys()])
      const scenes = groupIds.flatMap((groupId) => {
        const group = known.get(groupId)
        const member = own.get(groupId) ?? null
        return group
          ? [{ caller, group, member, standing: this.standingOf(caller, group, member), now }]
          : []
      })
      const refused = scenes.filter((scene) => refusalOf(scene, right) !== null)
      const closedIds = refused
        .filter(({ group }) => !isGone(group))
        .map(({ group }) => group.groupId)
      const isOpen = opensToOutsiders(right) && userId !== null
      const inviting = isOpen
        ? await members.findInviting(db, appId, userId, closedIds, now)
        : new Set<Int64>()
      const shut = new Set(refused.filter(({ group }) => !inviting.has(group.groupId)))
      return scenes.filter((scene) => !shut.has(scene))
    })
  }

  /** The caller's standing in a group of which the caller's own membership is known. */
  standingOf(caller: GroupCaller, { groupId }: GroupKey, member: Member | null): GroupStanding {
    const own = ownStanding(member)
    if (!caller.isAdminToken) return own
    if (caller.adminOf === groupId) return isBelow(own, 'admin') ? 'admin' : own
    return caller.userId === null && caller.adminOf === null ? 'owner' : own
  }

  async #enter(
    db: Executor,
    caller: GroupCaller,
    group: Group | null,
    right: GroupRightName,
  ): Promise<Scene> {
    const { members, clock } = this.options
    if (!group) throw new AppError('group_not_found')
    const member = caller.userId === null ? null : await members.find(db, group, caller.userId)
    const scene = {
      caller,
      group,
      member,
      standing: this.standingOf(caller, group, member),
      now: clock.now(),
    }
    const refusal = refusalOf(scene, right)
    if (refusal === null) return scene
    if (!isGone(group) && opensToOutsiders(right) && (await this.#isInvited(db, scene)))
      return scene
    throw new AppError(refusal)
  }

  async #isInvited(db: Executor, { caller, group, now }: Scene): Promise<boolean> {
    return (
      caller.userId !== null &&
      (await this.options.members.isInvited(db, group, caller.userId, now))
    )
  }
}

/** Why the caller has not the right, or null. */
export function refusalOf(
  scene: Pick<Scene, 'group' | 'member' | 'standing'>,
  right: GroupRightName,
): ErrorName | null {
  const { group, member, standing } = scene
  // What a dissolved group was stays readable for those who were members (decision F8).
  if (isGone(group)) return right === 'info' && standing !== 'outsider' ? null : 'group_not_found'
  const { isPersonal, refusal }: GroupRight = groupRights[right]
  if (
    opensToOutsiders(right) &&
    (group.type === groupType.public || group.type === groupType.chatroom)
  )
    return null
  const from = lowestStanding(right, group.flags)
  const judged = isPersonal ? ownStanding(member) : standing
  return from === 'outsider' || !isBelow(judged, from) ? null : (refusal ?? standingErrors[from])
}

function isGone({ status }: Group): boolean {
  return status === groupStatus.dissolved
}

/** The lowest standing that has the right in a group with these settings. */
export function lowestStanding(right: GroupRightName, flags: GroupFlags): GroupStanding {
  const definition: GroupRight = groupRights[right]
  return definition.membersWith !== undefined && flags[definition.membersWith]
    ? 'member'
    : definition.from
}

export function isBelow(a: GroupStanding, b: GroupStanding): boolean {
  return groupStandings.indexOf(a) < groupStandings.indexOf(b)
}

/** Whether somebody of this standing may do something to the user: only to those below, so never to oneself. */
export function mayActOn(standing: GroupStanding, target: Member | null): boolean {
  return isBelow(ownStanding(target), standing)
}

function ownStanding(member: Member | null): GroupStanding {
  return member ? standingOfRole(member.role) : 'outsider'
}

function opensToOutsiders(right: GroupRightName): boolean {
  return 'opensToOutsiders' in groupRights[right]
}
