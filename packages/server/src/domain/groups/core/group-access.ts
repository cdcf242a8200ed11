import {
  AppError,
  type ErrorName,
  type GroupRight,
  type GroupRightName,
  type GroupRole,
  groupRights,
  groupRoles,
  groupStatus,
  groupType,
  type Int64,
  roleErrors,
} from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { type EventLoopBudget, lookupChunk } from '../../../lib/concurrency/event-loop-budget.js'
import { LockedUsers, type UserLocker } from '../../users/locked-users.js'
import type { InvitationStore } from '../admission/invitation-store.js'
import type { MemberStore } from '../membership/member-store.js'
import { type Group, type GroupFlags, type GroupKey, type Member, roleName } from './group-model.js'
import type { GroupStore } from './group-store.js'

interface GroupAccessOptions {
  readonly database: Database
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly invitations: InvitationStore
  readonly users: UserLocker
  readonly clock: Clock
  readonly budget: EventLoopBudget
}

/** Parts of a call's principal that groups need (rules C3 to C5). */
export interface GroupCaller {
  readonly appId: string
  /** The acting user; null for an Admin token alone. */
  readonly userId: Int64 | null
  readonly isAdminToken: boolean
  /** The group of which an Admin token is an admin, from the group_id header. */
  readonly adminOf: Int64 | null
  /** The actor in events: the user, or the system. */
  readonly actorId: Int64
}

/** A group in the context of one call. */
export interface GroupContext {
  readonly caller: GroupCaller
  readonly group: Group
  /** The caller's own membership. */
  readonly member: Member | null
  readonly role: GroupRole
  /** Milliseconds since 1970. */
  readonly now: number
}

/** A group that was found for a caller. */
type FoundGroup = Pick<GroupContext, 'caller' | 'member'> & { readonly group: Group | null }

/** A group with its row, and those of the users, locked until the transaction ends. */
export interface LockedGroupContext extends GroupContext {
  /** The users that the call named. */
  readonly users: LockedUsers
}

/**
 * Opens the context of every group operation. It finds the group, checks the caller by the table of
 * rights, and serializes changes of one group.
 */
export class GroupAccess {
  constructor(private readonly options: GroupAccessOptions) {}

  /**
   * Runs a change with the group locked. `work` may run more than once.
   * @param userIds users to lock before the group, as every change that adds rows about them must
   * @throws AppError group_not_found, and the refusal of the right
   */
  async change<T>(
    caller: GroupCaller,
    groupId: Int64,
    right: GroupRightName,
    { userIds = [] }: { readonly userIds?: readonly Int64[] },
    work: (tx: Tx, context: LockedGroupContext) => Promise<T>,
  ): Promise<T> {
    const { database, groups, members, users: locker } = this.options
    const key = { appId: caller.appId, groupId }
    // A caller without the right locks no row.
    if (userIds.length > 0) await this.read(caller, groupId, right, async () => {})
    return database.transaction(async (tx) => {
      // Bulk statements issued together run in this order, each after the previous one holds its
      // locks.
      const [users, group, own] = await Promise.all([
        LockedUsers.lockNoKeyUpdate(tx, locker, caller.appId, userIds),
        groups.lockForUpdate(tx, key),
        members.findMany(tx, key, caller.userId === null ? [] : [caller.userId]),
      ])
      const [member = null] = own.values()
      const context = await this.#authorize(tx, { caller, group, member }, right)
      return work(tx, { ...context, users })
    })
  }

  /** @throws AppError group_not_found, and the refusal of the right */
  async read<T>(
    caller: GroupCaller,
    groupId: Int64,
    right: GroupRightName,
    work: (db: Queryable, context: GroupContext) => Promise<T>,
  ): Promise<T> {
    const { database, groups, members } = this.options
    const key = { appId: caller.appId, groupId }
    return database.read(async (db) => {
      const [group, member] = await Promise.all([
        groups.find(db, key),
        caller.userId === null ? null : members.find(db, key, caller.userId),
      ])
      return work(db, await this.#authorize(db, { caller, group, member }, right))
    })
  }

  /**
   * Reads several groups. Leaves out those that do not exist and those where the caller lacks the
   * right.
   * @returns the others, in the order of the list, without repetitions
   */
  async readMany(
    caller: GroupCaller,
    groupIds: readonly Int64[],
    right: GroupRightName,
  ): Promise<GroupContext[]> {
    const distinct = [...new Set(groupIds)]
    const contexts: GroupContext[] = []
    for await (const chunk of this.options.budget.chunks(distinct, lookupChunk))
      contexts.push(...(await this.#readChunk(caller, chunk, right)))
    return contexts
  }

  async #readChunk(
    caller: GroupCaller,
    groupIds: readonly Int64[],
    right: GroupRightName,
  ): Promise<GroupContext[]> {
    const { database, groups, members, invitations, clock } = this.options
    const { appId, userId } = caller
    const now = clock.now()
    return database.read(async (db) => {
      const known = await groups.findMany(db, appId, groupIds)
      const own =
        userId === null
          ? new Map<Int64, Member>()
          : await members.findOwn(db, appId, userId, [...known.keys()])
      const contexts = groupIds.flatMap((groupId) => {
        const group = known.get(groupId)
        const member = own.get(groupId) ?? null
        return group
          ? [{ caller, group, member, role: this.roleOf(caller, group, member), now }]
          : []
      })
      const refused = contexts.filter((context) => refusalOf(context, right) !== null)
      const closedIds = refused
        .filter(({ group }) => !isGone(group))
        .map(({ group }) => group.groupId)
      const isOpen = opensToOutsiders(right) && userId !== null
      const inviting = isOpen
        ? await invitations.findInviting(db, appId, userId, closedIds, now)
        : new Set<Int64>()
      const shut = new Set(refused.filter(({ group }) => !inviting.has(group.groupId)))
      return contexts.filter((context) => !shut.has(context))
    })
  }

  /** Returns the caller's role in a group, given the caller's membership. */
  roleOf(caller: GroupCaller, { groupId }: GroupKey, member: Member | null): GroupRole {
    const own = ownRole(member)
    if (!caller.isAdminToken) return own
    if (caller.adminOf === groupId) return isBelow(own, 'admin') ? 'admin' : own
    return caller.userId === null && caller.adminOf === null ? 'owner' : own
  }

  async #authorize(
    db: Queryable,
    { caller, group, member }: FoundGroup,
    right: GroupRightName,
  ): Promise<GroupContext> {
    const { clock } = this.options
    if (!group) throw new AppError('group_not_found')
    const context = {
      caller,
      group,
      member,
      role: this.roleOf(caller, group, member),
      now: clock.now(),
    }
    const refusal = refusalOf(context, right)
    if (refusal === null) return context
    if (!isGone(group) && opensToOutsiders(right) && (await this.#isInvited(db, context)))
      return context
    throw new AppError(refusal)
  }

  async #isInvited(db: Queryable, { caller, group, now }: GroupContext): Promise<boolean> {
    return (
      caller.userId !== null &&
      (await this.options.invitations.isInvited(db, group, caller.userId, now))
    )
  }
}

/** Reason why the caller lacks the right, or null. */
export function refusalOf(
  context: Pick<GroupContext, 'group' | 'member' | 'role'>,
  right: GroupRightName,
): ErrorName | null {
  const { group, member, role } = context
  // The information of a dissolved group stays readable for its former members (rule F8).
  if (isGone(group)) return right === 'info' && role !== 'outsider' ? null : 'group_not_found'
  const { isPersonal, refusal }: GroupRight = groupRights[right]
  if (
    opensToOutsiders(right) &&
    (group.type === groupType.public || group.type === groupType.chatroom)
  )
    return null
  const from = lowestRole(right, group.flags)
  const asked = isPersonal ? ownRole(member) : role
  return from === 'outsider' || !isBelow(asked, from) ? null : (refusal ?? roleErrors[from])
}

function isGone({ status }: Group): boolean {
  return status === groupStatus.dissolved
}

/** Returns the lowest role that has the right in a group with these settings. */
export function lowestRole(right: GroupRightName, flags: GroupFlags): GroupRole {
  const definition: GroupRight = groupRights[right]
  return definition.membersWith !== undefined && flags[definition.membersWith]
    ? 'member'
    : definition.from
}

/** Tests whether the first role ranks lower than the second. */
export function isBelow(a: GroupRole, b: GroupRole): boolean {
  return groupRoles.indexOf(a) < groupRoles.indexOf(b)
}

/**
 * Tests whether a user of this role may act on the target: only on a lower role, so never on
 * oneself.
 */
export function mayActOn(role: GroupRole, target: Member | null): boolean {
  return isBelow(ownRole(target), role)
}

function ownRole(member: Member | null): GroupRole {
  return member ? roleName(member.role) : 'outsider'
}

function opensToOutsiders(right: GroupRightName): boolean {
  return 'opensToOutsiders' in groupRights[right]
}
