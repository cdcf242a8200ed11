import { AppError, type GroupRightName, type Int64, memberRole } from '@hermod/protocol'
import type { Queryable } from '../../../db/database.js'
import { type EventLoopBudget, lookupChunk } from '../../../lib/concurrency/event-loop-budget.js'
import type { AppService } from '../../apps/app-service.js'
import type { ItemOutcome } from '../../item-outcome.js'
import { type PageRequest, readIdCursor, writeCursor } from '../../paging.js'
import type { GroupInviter } from '../admission/group-inviter.js'
import type { GroupAccess, GroupCaller, GroupContext } from '../core/group-access.js'
import { type GroupList, isBanned, type Member, type SeenMember } from '../core/group-model.js'
import type { GroupPage } from '../core/group-page.js'
import type { Block, BlockStore } from '../moderation/block-store.js'
import type { MemberListRange, MemberListStore } from './member-list-store.js'
import type { MemberStore } from './member-store.js'
import type { MembershipService } from './membership-service.js'

export interface GroupMemberServiceOptions {
  readonly access: GroupAccess
  readonly apps: AppService
  readonly members: MemberStore
  readonly lists: MemberListStore
  readonly blocks: BlockStore
  readonly memberships: MembershipService
  readonly inviter: GroupInviter
  readonly budget: EventLoopBudget
  readonly users: {
    findByIds(
      db: Queryable,
      appId: string,
      userIds: readonly Int64[],
    ): Promise<readonly { readonly userId: Int64; readonly isBot: boolean }[]>
  }
}

const maxPage = 1_000

/** The group, the caller and the page of a list. */
type PageOfGroup = readonly [caller: GroupCaller, groupId: Int64, request: PageRequest]

/** A list of a group, ordered by user ID. */
interface PagedList<T> {
  readonly list: GroupList
  readonly right: GroupRightName
  readonly read: (
    db: Queryable,
    context: GroupContext,
    position: MemberListRange,
  ) => Promise<readonly T[]>
  readonly count: (db: Queryable, context: GroupContext) => Promise<number>
}

/** Members and block lists of groups. */
export class GroupMemberService {
  constructor(private readonly options: GroupMemberServiceOptions) {}

  /**
   * Adds users without asking those who may be added (rules F4b, F7).
   * @param userIds distinct
   * @returns as {@link GroupInviter.addOrInvite}
   * @throws AppError group_not_found, group_admin_required
   */
  async add(
    caller: GroupCaller,
    groupId: Int64,
    userIds: readonly Int64[],
  ): Promise<ItemOutcome[]> {
    const { access, inviter } = this.options
    return access.change(caller, groupId, 'add', { userIds }, (tx, context) =>
      inviter.addOrInvite(tx, context, userIds, { isInvitation: false, reason: '' }),
    )
  }

  /** @throws AppError group_not_found, not_group_member, owner_cannot_leave */
  async leave(caller: GroupCaller, groupId: Int64): Promise<void> {
    const { access, memberships } = this.options
    await access.change(caller, groupId, 'own', {}, async (tx, context) => {
      if (!context.member) throw new AppError('not_group_member')
      if (context.member.role === memberRole.owner) throw new AppError('owner_cannot_leave')
      await memberships.remove(tx, context, [context.member], 'left')
    })
  }

  /**
   * Lists by user ID, with members as the caller may see them ({@link #asSeen}).
   * @param page limit: default and maximum 1,000
   * @throws AppError group_not_found, member_required, invalid_parameter for an unknown cursor
   */
  list(...page: PageOfGroup): Promise<GroupPage<SeenMember>> {
    const { lists } = this.options
    return this.#page(page, {
      list: 'members',
      right: 'read',
      read: async (db, context, position) =>
        this.#asSeen(db, context, await lists.list(db, context.group, position)),
      count: async (_, { group }) => group.memberCount,
    })
  }

  /** Lists the members who are banned now, as {@link list}. */
  listBanned(...page: PageOfGroup): Promise<GroupPage<SeenMember>> {
    const { lists } = this.options
    return this.#page(page, {
      list: 'bans',
      right: 'read',
      read: async (db, context, position) =>
        this.#asSeen(db, context, await lists.listBanned(db, context.group, position, context.now)),
      count: (db, { group, now }) => lists.countBanned(db, group, now),
    })
  }

  /**
   * Lists by user ID.
   * @throws AppError group_not_found, group_admin_required, invalid_parameter for an unknown cursor
   */
  listBlocks(...page: PageOfGroup): Promise<GroupPage<Block>> {
    const { blocks } = this.options
    return this.#page(page, {
      list: 'blocks',
      right: 'unblock',
      read: (db, { group }, position) => blocks.list(db, group, position),
      count: async (_, { group }) => group.blockCount,
    })
  }

  /** Lists all admins without the owner, otherwise as {@link list}. */
  async listAdmins(caller: GroupCaller, groupId: Int64): Promise<SeenMember[]> {
    const { access, lists } = this.options
    return access.read(caller, groupId, 'read', async (db, context) =>
      this.#asSeen(db, context, await lists.listAdmins(db, context.group)),
    )
  }

  /**
   * Returns members in the given order, without repetitions and without users who are not members.
   * Otherwise as {@link list}.
   * @throws AppError group_not_found, member_required
   */
  async findMany(
    caller: GroupCaller,
    groupId: Int64,
    userIds: readonly Int64[],
  ): Promise<SeenMember[]> {
    const { access, members, budget } = this.options
    const distinct = [...new Set(userIds)]
    return access.read(caller, groupId, 'read', async (db, context) => {
      const found: Member[] = []
      for await (const chunk of budget.chunks(distinct, lookupChunk)) {
        const known = await members.findMany(db, context.group, chunk)
        found.push(...chunk.flatMap((userId) => known.get(userId) ?? []))
      }
      return this.#asSeen(db, context, found)
    })
  }

  async #page<T extends { readonly userId: Int64 }>(
    [caller, groupId, { cursor, limit = maxPage }]: PageOfGroup,
    of: PagedList<T>,
  ): Promise<GroupPage<T>> {
    const afterId = readIdCursor(cursor) ?? 0
    const length = Math.min(limit, maxPage)
    return this.options.access.read(caller, groupId, of.right, async (db, context) => {
      const found = await of.read(db, context, { afterId, limit: length + 1 })
      const entries = found.slice(0, length)
      const nextCursor = found.length > length ? writeCursor(entries.at(-1)?.userId ?? 0) : null
      return {
        entries,
        nextCursor,
        total: await of.count(db, context),
        version: context.group.versions[of.list],
      }
    })
  }

  /**
   * Hides ended bans, and the names of others where ordinary members may not see them (rule F9).
   */
  async #asSeen(
    db: Queryable,
    { caller, group, role, now }: GroupContext,
    found: readonly Member[],
  ): Promise<SeenMember[]> {
    const { apps, users } = this.options
    const memberIds = found.map(({ userId }) => userId)
    const known = await users.findByIds(db, caller.appId, memberIds)
    const bots = new Set(known.filter(({ isBot }) => isBot).map(({ userId }) => userId))
    const mayHide = group.flags.hide_member_info && role === 'member'
    const hidesNames = mayHide && (await apps.get(caller.appId)).settings.hide_member_info
    return found.map((member) => ({
      ...member,
      displayName: hidesNames && member.userId !== caller.userId ? '' : member.displayName,
      banExpiresAt: isBanned(member.banExpiresAt, now) ? member.banExpiresAt : 0,
      isBot: bots.has(member.userId),
    }))
  }
}
