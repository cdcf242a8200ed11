import { type ErrorName, groupType, type Int64, memberRole } from '@hermod/protocol'
import { actorEvent } from '@hermod/protocol/events'
import type { Tx } from '../../../db/database.js'
import type { Outbox } from '../../../outbox/outbox.js'
import { readAppSettings } from '../../apps/app-settings.js'
import { acceptedOf, type ItemOutcome, toOutcome } from '../../item-outcome.js'
import type { OpenAdmissions } from '../admission/open-admissions.js'
import type { GroupContext, LockedGroupContext } from '../core/group-access.js'
import type { GroupEvents } from '../core/group-events.js'
import {
  countBans,
  type GroupKey,
  groupEvent,
  isBanned,
  type Member,
  maxKicks,
} from '../core/group-model.js'
import type { GroupStore } from '../core/group-store.js'
import type { BlockStore } from '../moderation/block-store.js'
import type { ConversationEnd, GroupConversations } from './group-conversations.js'
import type { MemberStore } from './member-store.js'
import type { Removal, RemovalStore } from './removal-store.js'

export interface MembershipServiceOptions {
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly removals: RemovalStore
  readonly blocks: BlockStore
  readonly admissions: OpenAdmissions
  readonly conversations: Pick<GroupConversations, 'lockEnd' | 'add' | 'remove'>
  readonly pins: GroupPins
  readonly events: GroupEvents
  readonly outbox: Outbox
}

/** Pins of the conversations of groups. */
interface GroupPins {
  /** @returns the users who had pinned it */
  deleteOfGroup(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<readonly Int64[]>
}

/** Data that a group keeps about former members. */
type Removals = ReadonlyMap<Int64, Removal>

interface Additions {
  readonly former: Removals
  readonly end: ConversationEnd
  readonly isAdded: boolean
}

const noRemovals: Removals = new Map()

/** Adds users to a locked group and removes them, with the events. */
export class MembershipService {
  constructor(private readonly options: MembershipServiceOptions) {}

  /**
   * Adds the users who may join, up to the room in the group. Answers the open requests and
   * invitations between them and the group.
   *
   * @param userIds distinct; locked by the context
   * @param how.isOwnWill the users join on their own, which is refused after too many kicks (rule
   * F6)
   * @param how.isAdded others put the users into the group without asking them (rule F4b)
   * @returns user_not_found, user_deleted, already_group_member, in_group_block_list,
   * kicked_too_often, joined_group_limit_reached, group_full
   */
  async add(
    tx: Tx,
    context: LockedGroupContext,
    userIds: readonly Int64[],
    { isOwnWill, isAdded = false }: { readonly isOwnWill: boolean; readonly isAdded?: boolean },
  ): Promise<ItemOutcome[]> {
    if (userIds.length === 0) return []
    const { removals, conversations } = this.options
    const { group } = context
    const remembered = removals.findMany(tx, group, userIds)
    const [refusals, former, end] = await Promise.all([
      this.#refusals(tx, context, userIds, isOwnWill ? remembered : noRemovals),
      remembered,
      conversations.lockEnd(tx, group),
    ])
    let room = Number(group.capacity) - group.memberCount
    const outcomes = refusals.map(
      (refusal) => refusal ?? toOutcome(room-- > 0 ? null : 'group_full'),
    )
    await this.#enter(tx, context, acceptedOf(userIds, outcomes), { former, end, isAdded })
    return outcomes
  }

  /** Returns why users may not join, apart from the room in the group; see {@link add}. */
  async check(
    tx: Tx,
    context: LockedGroupContext,
    userIds: readonly Int64[],
    { isOwnWill }: { readonly isOwnWill: boolean },
  ): Promise<ItemOutcome[]> {
    if (userIds.length === 0) return []
    const { removals } = this.options
    const kicked = isOwnWill ? removals.findMany(tx, context.group, userIds) : noRemovals
    return this.#refusals(tx, context, userIds, kicked)
  }

  /** @param kicked users with kicks that count */
  async #refusals(
    tx: Tx,
    { group, users }: LockedGroupContext,
    userIds: readonly Int64[],
    kicked: Removals | Promise<Removals>,
  ): Promise<ItemOutcome[]> {
    const { members, blocks } = this.options
    const [known, blocked, former, isInTooMany] = await Promise.all([
      members.findMany(tx, group, userIds),
      blocks.findMany(tx, group, userIds),
      kicked,
      readAppSettings(tx, group.appId).then(({ group_member_limit: limit }) =>
        members.findInTooMany(tx, group.appId, userIds, limit),
      ),
    ])
    const refusalOf = (userId: Int64): ErrorName | null => {
      const refusal = users.refusal(userId)
      if (refusal) return refusal
      if (known.has(userId)) return 'already_group_member'
      if (blocked.has(userId)) return 'in_group_block_list'
      if ((former.get(userId)?.kicks ?? 0) > maxKicks) return 'kicked_too_often'
      return isInTooMany.has(userId) ? 'joined_group_limit_reached' : null
    }
    return userIds.map((userId) => toOutcome(refusalOf(userId)))
  }

  /** Removes members; the owner must not be among them. */
  async remove(
    tx: Tx,
    context: GroupContext,
    removed: readonly Member[],
    kind: 'left' | 'kicked' | 'blocked',
  ): Promise<void> {
    const { groups, members, conversations, removals, pins, events, outbox } = this.options
    const { group, caller, now } = context
    if (removed.length === 0) return
    const userIds = removed.map(({ userId }) => userId)
    const bans = countBans(removed.map(({ banExpiresAt }) => banExpiresAt))
    const [pinning] = await Promise.all([
      pins.deleteOfGroup(tx, group, userIds),
      removals.remember(tx, group, removed, kind === 'kicked' ? 1 : 0),
      members.delete(tx, group, userIds),
      conversations.remove(tx, group, userIds),
      groups.touch(tx, group, bans > 0 ? ['members', 'bans'] : ['members'], now, {
        members: -removed.length,
        bans: -bans,
      }),
    ])
    if (kind !== 'blocked')
      events.append(
        tx,
        group,
        groupEvent(group, kind, caller.actorId, userIds, {
          member_count: group.memberCount - removed.length,
        }),
      )
    if (group.type === groupType.chatroom)
      events.append(tx, group, groupEvent(group, 'absence', caller.actorId, userIds))
    if (pinning.length > 0) {
      const about = { appId: group.appId, actorId: caller.actorId, userIds: pinning }
      const pin = { conversation_id: group.groupId }
      outbox.append(tx, actorEvent('conversation.unpinned', about, pin))
    }
  }

  async #enter(
    tx: Tx,
    { group, caller, users, now }: LockedGroupContext,
    userIds: readonly Int64[],
    { former, end, isAdded }: Additions,
  ): Promise<void> {
    const { groups, members, conversations, removals, admissions, events } = this.options
    if (userIds.length === 0) return
    const banOf = (userId: Int64) => {
      const banEnd = former.get(userId)?.banExpiresAt ?? 0
      return isBanned(banEnd, now) ? banEnd : 0
    }
    const rows = userIds.map((userId) => ({
      app_id: group.appId,
      group_id: group.groupId,
      user_id: userId,
      role: memberRole.member,
      ban_expires_at: banOf(userId),
      joined_at: now,
      is_added: Number(isAdded),
    }))
    const bansKept = countBans(rows.map((row) => row.ban_expires_at))
    const isPlain = bansKept === 0 && !userIds.some((userId) => users.isBot(userId))
    const [also] = await Promise.all([
      admissions.answer(tx, group, userIds, { status: 'agreed', now }),
      members.insert(tx, rows),
      conversations.add(tx, group, userIds, {
        end,
        isHistoryVisible: group.flags.history_visible,
      }),
      removals.forgetBans(
        tx,
        group,
        userIds.filter((userId) => former.has(userId)),
      ),
      groups.touch(tx, group, bansKept > 0 ? ['members', 'bans'] : ['members'], now, {
        members: userIds.length,
        bans: bansKept,
      }),
    ])
    events.append(tx, group, {
      ...groupEvent(group, 'joined', caller.actorId, userIds, {
        log: { change: end.change, seq: end.seq, msg_id: end.lastMessageId },
        history_visible: group.flags.history_visible,
        member_count: group.memberCount + userIds.length,
        ...(isPlain && { join_time: now }),
      }),
      also,
    })
    if (group.type === groupType.chatroom)
      events.append(tx, group, groupEvent(group, 'presence', caller.actorId, userIds))
  }
}
