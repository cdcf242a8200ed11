import {
  AppError,
  type ErrorName,
  groupRights,
  groupStatus,
  type Int64,
  memberRole,
} from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import { confirmRefusal, type Freshness } from '../../../lib/invalidated-cache.js'
import { systemUserId } from '../../users/system-user.js'
import type { MemberStore } from '../membership/member-store.js'
import { isBelow, mayActOn } from './group-access.js'
import type { GroupCache } from './group-cache.js'
import { type Group, type GroupKey, isBanned, type Member, roleName } from './group-model.js'
import type { GroupStore } from './group-store.js'

interface GroupMessageRulesOptions {
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly cache: GroupCache
  readonly clock: Clock
}

/** Rules on sending to a group and on acting on its messages (rules E7, E11, F5). */
export class GroupMessageRules {
  constructor(private readonly options: GroupMessageRulesOptions) {}

  /**
   * Reason why the sender may not send to the group, or null. Bans do not apply to an Admin token;
   * the system is a member everywhere.
   * @returns group_not_found, not_group_member, member_banned
   */
  async refusal(
    group: GroupKey,
    senderId: Int64,
    isAdminToken: boolean,
  ): Promise<ErrorName | null> {
    return confirmRefusal(
      (freshness) => this.#refusal(group, senderId, { isAdminToken, freshness }),
      // The others are final, or come from a missing row, which is never cached.
      (refusal) => refusal === 'member_banned',
    )
  }

  async #refusal(
    group: GroupKey,
    senderId: Int64,
    { isAdminToken, freshness }: { isAdminToken: boolean; freshness: Freshness },
  ): Promise<ErrorName | null> {
    const { cache } = this.options
    const found = await cache.findGroup(group, freshness)
    if (!found || found.status === groupStatus.dissolved) return 'group_not_found'
    if (senderId === systemUserId) return null
    const member = await cache.findMember(group, senderId, freshness)
    if (!member) return 'not_group_member'
    return isAdminToken || !this.#isBanned(found, member) ? null : 'member_banned'
  }

  #isBanned(group: Group, { role, banExpiresAt }: Member): boolean {
    const now = this.options.clock.now()
    const isGroupBanned = role === memberRole.member && isBanned(group.banExpiresAt, now / 1_000)
    return isGroupBanned || isBanned(banExpiresAt, now)
  }

  /** Tests whether the group offers read receipts. */
  async hasReadAck(group: GroupKey): Promise<boolean> {
    return confirmRefusal(
      async (freshness) =>
        (await this.options.cache.findGroup(group, freshness))?.flags.read_ack ?? false,
      (isOffered) => !isOffered,
    )
  }

  /**
   * Checks that a user may recall another user's message: the owner and admins may recall those of
   * lower members and of former members.
   * @throws AppError group_not_found, member_required, no_permission
   */
  async requireRecall(tx: Tx, group: GroupKey, userId: Int64, senderId: Int64): Promise<void> {
    const { members } = this.options
    await this.requireMember(tx, group, userId)
    const found = await members.findMany(tx, group, [userId, senderId])
    const role = roleName(found.get(userId)?.role ?? memberRole.member)
    const isOfMember = senderId !== systemUserId && mayActOn(role, found.get(senderId) ?? null)
    if (isBelow(role, groupRights.recall.from) || !isOfMember)
      throw new AppError('no_permission', 'only the sender may do this')
  }

  /** @throws AppError group_not_found, member_required */
  async requireMember(tx: Tx, group: GroupKey, userId: Int64): Promise<void> {
    await this.requireGroup(tx, group)
    if (!(await this.options.members.find(tx, group, userId))) throw new AppError('member_required')
  }

  /** @throws AppError group_not_found */
  async requireGroup(tx: Tx, group: GroupKey): Promise<Group> {
    const found = await this.options.groups.find(tx, group)
    if (!found || found.status === groupStatus.dissolved) throw new AppError('group_not_found')
    return found
  }
}
