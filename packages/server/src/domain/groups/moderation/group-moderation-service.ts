import { type ErrorName, type GroupRightName, type Int64, memberRole } from '@hermod/protocol'
import type { Event } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import { acceptedOf, type ItemOutcome, toOutcome } from '../../item-outcome.js'
import type { OpenAdmissions } from '../admission/open-admissions.js'
import {
  type GroupAccess,
  type GroupCaller,
  type GroupContext,
  type LockedGroupContext,
  mayActOn,
} from '../core/group-access.js'
import type { GroupEvents } from '../core/group-events.js'
import {
  adminsPerGroup,
  banEnd,
  countBans,
  type GroupList,
  groupEvent,
  isBanned,
  type Member,
} from '../core/group-model.js'
import type { GroupStore } from '../core/group-store.js'
import type { MemberChanges, MemberStore } from '../membership/member-store.js'
import type { MembershipService } from '../membership/membership-service.js'
import type { RemovalStore } from '../membership/removal-store.js'
import type { BlockStore } from './block-store.js'

interface GroupModerationServiceOptions {
  readonly access: GroupAccess
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly removals: RemovalStore
  readonly blocks: BlockStore
  readonly admissions: OpenAdmissions
  readonly memberships: MembershipService
  readonly events: GroupEvents
}

/** A change of members that makes one event. */
interface MemberChange {
  readonly changes: MemberChanges
  readonly lists: readonly GroupList[]
  readonly event: (userIds: readonly Int64[]) => Event
}

/** The users of a list, in its order. */
interface CheckedUsers {
  /** Members that the caller may act on. */
  readonly members: readonly Member[]
  readonly nonMembers: readonly Int64[]
  /** Outcomes so far; may be changed. */
  readonly outcomes: Map<Int64, ItemOutcome>
}

/**
 * Moderation by admins, and of admins by the owner. Lists of users are distinct, and every user has
 * an outcome. It is null also when nothing had to change, which makes no event, and no_permission
 * for users of equal or higher role and for oneself.
 */
export class GroupModerationService {
  constructor(private readonly options: GroupModerationServiceOptions) {}

  /**
   * Makes members admins and ends their bans.
   * @returns not_group_member, no_permission, admin_limit_reached
   * @throws AppError group_not_found, member_required, group_owner_required
   */
  appoint(caller: GroupCaller, groupId: Int64, userIds: readonly Int64[]): Promise<ItemOutcome[]> {
    return this.#toMembers(
      caller,
      groupId,
      { right: 'appoint', userIds },
      async (tx, context, { members, outcomes }) => {
        const { admin: role } = memberRole
        const room = adminsPerGroup - (await this.options.members.countAdmins(tx, context.group))
        const wanted = members.filter((member) => member.role !== role)
        const appointed = wanted.slice(0, Math.max(room, 0))
        for (const { userId } of wanted.slice(appointed.length))
          outcomes.set(userId, toOutcome('admin_limit_reached'))
        const freed = appointed.filter(({ banExpiresAt }) => isBanned(banExpiresAt, context.now))
        await this.#change(tx, context, freed, {
          changes: { ban_expires_at: 0 },
          lists: ['bans'],
          event: (changedIds) =>
            groupEvent(context.group, 'unbanned', caller.actorId, changedIds, { expired_time: 0 }),
        })
        await this.#change(tx, context, appointed, {
          changes: { role },
          lists: ['members'],
          event: (changedIds) =>
            groupEvent(context.group, 'admin_granted', caller.actorId, changedIds, {
              role: memberRole.admin,
            }),
        })
      },
    )
  }

  /** Makes admins ordinary members; otherwise as {@link appoint}. */
  dismiss(caller: GroupCaller, groupId: Int64, userIds: readonly Int64[]): Promise<ItemOutcome[]> {
    return this.#toMembers(
      caller,
      groupId,
      { right: 'appoint', userIds },
      async (tx, context, { members }) => {
        const dismissed = members.filter(({ role }) => role === memberRole.admin)
        await this.#change(tx, context, dismissed, {
          changes: { role: memberRole.member },
          lists: ['members'],
          event: (changedIds) =>
            groupEvent(context.group, 'admin_revoked', caller.actorId, changedIds, {
              role: memberRole.member,
            }),
        })
      },
    )
  }

  /**
   * Stops members from sending.
   * @param minutes -1: permanent
   * @returns not_group_member, no_permission
   * @throws AppError group_not_found, member_required, group_admin_required, invalid_parameter
   * naming duration
   */
  ban(
    caller: GroupCaller,
    groupId: Int64,
    userIds: readonly Int64[],
    minutes: Int64,
  ): Promise<ItemOutcome[]> {
    return this.#toMembers(
      caller,
      groupId,
      { right: 'moderate', userIds },
      async (tx, context, { members }) => {
        const end = banEnd(minutes, context.now)
        const banned = members.filter(({ banExpiresAt }) => banExpiresAt !== end)
        await this.#change(tx, context, banned, {
          changes: { ban_expires_at: end },
          lists: ['members', 'bans'],
          event: (bannedIds) =>
            groupEvent(context.group, 'banned', caller.actorId, bannedIds, {
              minutes,
              expired_time: end,
            }),
        })
      },
    )
  }

  /** Ends bans, including those of users who have left; otherwise as {@link ban}. */
  unban(caller: GroupCaller, groupId: Int64, userIds: readonly Int64[]): Promise<ItemOutcome[]> {
    return this.#toMembers(
      caller,
      groupId,
      { right: 'moderate', userIds },
      async (tx, context, { members, nonMembers, outcomes }) => {
        for (const userId of await this.#forgetBans(tx, context, nonMembers))
          outcomes.set(userId, null)
        const banned = members.filter(({ banExpiresAt }) => isBanned(banExpiresAt, context.now))
        await this.#change(tx, context, banned, {
          changes: { ban_expires_at: 0 },
          lists: ['members', 'bans'],
          event: (changedIds) =>
            groupEvent(context.group, 'unbanned', caller.actorId, changedIds, { expired_time: 0 }),
        })
      },
    )
  }

  /** Removes members; otherwise as {@link ban}. */
  kick(caller: GroupCaller, groupId: Int64, userIds: readonly Int64[]): Promise<ItemOutcome[]> {
    return this.#toMembers(
      caller,
      groupId,
      { right: 'moderate', userIds },
      (tx, context, { members }) => this.options.memberships.remove(tx, context, members, 'kicked'),
    )
  }

  /**
   * Blocks users, members or not, until they are unblocked; rejects their open join requests and
   * invitations.
   * @returns user_not_found, user_deleted, no_permission
   * @throws AppError group_not_found, member_required, group_admin_required
   */
  block(caller: GroupCaller, groupId: Int64, userIds: readonly Int64[]): Promise<ItemOutcome[]> {
    const { access, members, blocks } = this.options
    return access.change(caller, groupId, 'moderate', { userIds }, async (tx, context) => {
      const known = await members.findMany(tx, context.group, userIds)
      const isKept = await blocks.findMany(tx, context.group, userIds)
      const outcomes = userIds.map((id) =>
        toOutcome(context.users.refusal(id) ?? refusalOver(context, id, known.get(id) ?? null)),
      )
      const added = acceptedOf(userIds, outcomes).filter((userId) => !isKept.has(userId))
      if (added.length > 0) await this.#block(tx, context, added, [...known.values()])
      return outcomes
    })
  }

  /**
   * Removes users from the block list.
   * @throws AppError group_not_found, member_required, group_admin_required
   */
  unblock(caller: GroupCaller, groupId: Int64, userIds: readonly Int64[]): Promise<ItemOutcome[]> {
    const { access, admissions, groups, blocks, events } = this.options
    return access.change(caller, groupId, 'unblock', {}, async (tx, { group, now }) => {
      const isKept = await blocks.findMany(tx, group, userIds)
      const removed = userIds.filter((userId) => isKept.has(userId))
      if (removed.length > 0) {
        await blocks.delete(tx, group, removed)
        await groups.touch(tx, group, ['blocks'], now, { blocks: -removed.length })
        const event = groupEvent(group, 'unblocked', caller.actorId, removed)
        events.append(tx, group, { ...event, also: await admissions.managersOf(tx, group) })
      }
      return userIds.map(() => null)
    })
  }

  /** @returns former members with stored bans */
  async #forgetBans(
    tx: Tx,
    { group, caller, now }: GroupContext,
    nonMembers: readonly Int64[],
  ): Promise<Int64[]> {
    const { removals, events } = this.options
    const former = await removals.findMany(tx, group, nonMembers)
    const freed = nonMembers.filter((userId) =>
      isBanned(former.get(userId)?.banExpiresAt ?? 0, now),
    )
    await removals.forgetBans(tx, group, freed)
    if (freed.length > 0)
      events.append(
        tx,
        group,
        groupEvent(group, 'unbanned', caller.actorId, freed, { expired_time: 0 }),
      )
    return freed
  }

  async #block(
    tx: Tx,
    context: LockedGroupContext,
    userIds: readonly Int64[],
    known: readonly Member[],
  ): Promise<void> {
    const { groups, blocks, admissions, memberships, events } = this.options
    const { group, caller, now } = context
    const removed = known.filter(({ userId }) => userIds.includes(userId))
    await memberships.remove(tx, context, removed, 'blocked')
    await blocks.insert(tx, group, userIds, now)
    const also = await admissions.close(tx, group, userIds, now)
    await groups.touch(tx, group, ['blocks'], now, { blocks: userIds.length })
    const member_count = group.memberCount - removed.length
    const event = groupEvent(group, 'blocked', caller.actorId, userIds, { member_count })
    events.append(tx, group, { ...event, also })
  }

  /** Checks each user and applies `work` to the members that the caller may act on. */
  #toMembers(
    caller: GroupCaller,
    groupId: Int64,
    { right, userIds }: { readonly right: GroupRightName; readonly userIds: readonly Int64[] },
    work: (tx: Tx, context: LockedGroupContext, found: CheckedUsers) => Promise<void>,
  ): Promise<ItemOutcome[]> {
    const { access, members } = this.options
    return access.change(caller, groupId, right, {}, async (tx, context) => {
      const known = await members.findMany(tx, context.group, userIds)
      const outcomes = new Map(
        userIds.map((userId) => {
          const member = known.get(userId)
          const refusal = member ? refusalOver(context, userId, member) : 'not_group_member'
          return [userId, toOutcome(refusal)]
        }),
      )
      const accepted = acceptedOf(userIds, [...outcomes.values()])
      await work(tx, context, {
        members: accepted.flatMap((userId) => known.get(userId) ?? []),
        nonMembers: userIds.filter((userId) => !known.has(userId)),
        outcomes,
      })
      return [...outcomes.values()]
    })
  }

  async #change(
    tx: Tx,
    { group, now }: GroupContext,
    changed: readonly Member[],
    { changes, lists, event }: MemberChange,
  ) {
    const { groups, members, events } = this.options
    if (changed.length === 0) return
    const userIds = changed.map(({ userId }) => userId)
    const { ban_expires_at: end } = changes
    const before = countBans(changed.map(({ banExpiresAt }) => banExpiresAt))
    const bans = end === undefined ? 0 : countBans(changed.map(() => end)) - before
    await Promise.all([
      members.update(tx, group, userIds, changes),
      groups.touch(tx, group, lists, now, { bans }),
    ])
    events.append(tx, group, event(userIds))
  }
}

/** Returns a refusal also when an Admin token acts on the user that it acts for. */
function refusalOver(
  { caller, role }: GroupContext,
  userId: Int64,
  target: Member | null,
): ErrorName | null {
  return userId !== caller.userId && mayActOn(role, target) ? null : 'no_permission'
}
