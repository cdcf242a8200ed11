import { AppError, type GroupRightName, type Int64 } from '@hermod/protocol'
import type { Executor } from '../../../db/database.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { AppService } from '../../apps/app-service.js'
import type { Block, BlockStore } from '../moderation/block-store.js'
import type { GroupAccess, GroupCaller, Scene } from '../core/group-access.js'
import type { GroupDoor, Outcomes } from './membership-service.js'
import { type GroupList, isBanned, type Member, memberRole } from '../core/group-model.js'
import type { GroupPage, PageRequest } from '../core/group-page.js'
import type { MemberListStore, Position } from './member-list-store.js'
import type { MemberStore } from './member-store.js'

export interface GroupMemberServiceOptions {
  readonly access: GroupAccess
  readonly apps: AppService
  readonly members: MemberStore
  readonly lists: MemberListStore
  readonly blocks: BlockStore
  readonly door: GroupDoor
}

const maxPage = 1_000
const lookUpChunk = 1_000

/** Who is in a group and who may not be. */
export class GroupMemberService {
  constructor(private readonly options: GroupMemberServiceOptions) {}

  /**
   * Adds users without asking them (decision F7).
   * @returns as {@link GroupDoor.admit}
   * @throws AppError group_not_found, group_admin_required
   */
  async add(caller: GroupCaller, groupId: Int64, userIds: readonly Int64[]): Promise<Outcomes> {
    const { access, door } = this.options
    const distinct = [...new Set(userIds)]
    return access.change(caller, groupId, 'admit', { userIds: distinct }, (tx, scene) =>
      door.admit(tx, scene, distinct, { isOwnWill: false }),
    )
  }

  /** @throws AppError group_not_found, not_group_member, owner_cannot_leave */
  async leave(caller: GroupCaller, groupId: Int64): Promise<void> {
    const { access, door } = this.options
    await access.change(caller, groupId, 'own', {}, async (tx, scene) => {
      if (!scene.member) throw new AppError('not_group_member')
      if (scene.member.role === memberRole.owner) throw new AppError('owner_cannot_leave')
      await door.remove(tx, scene, [scene.member], 'left')
    })
  }

  /**
   * By user ID; members as the caller may see them ({@link #asSeen}).
   * @param request.limit default and maximum 1,000
   * @throws AppError group_not_found, member_required, invalid_parameter for a cursor that is none of ours
   */
  async list(
    caller: GroupCaller,
    groupId: Int64,
    request: PageRequest,
  ): Promise<GroupPage<Member>> {
    const { lists } = this.options
    return this.#page(caller, groupId, request, {
      list: 'members',
      right: 'read',
      read: async (db, scene, position) =>
        this.#asSeen(scene, await lists.list(db, scene.group, position)),
      count: async (_, { group }) => group.memberCount,
    })
  }

  /** Those whose ban runs, as {@link list}. */
  async listBanned(
    caller: GroupCaller,
    groupId: Int64,
    request: PageRequest,
  ): Promise<GroupPage<Member>> {
    const { lists } = this.options
    return this.#page(caller, groupId, request, {
      list: 'bans',
      right: 'read',
      read: async (db, scene, position) =>
        this.#asSeen(scene, await lists.listBanned(db, scene.group, position, scene.now)),
      count: (db, { group, now }) => lists.countBanned(db, group, now),
    })
  }

  /**
   * By user ID.
   * @throws AppError group_not_found, group_admin_required, invalid_parameter for a cursor that is none of ours
   */
  async listBlocks(
    caller: GroupCaller,
    groupId: Int64,
    request: PageRequest,
  ): Promise<GroupPage<Block>> {
    const { blocks } = this.options
    return this.#page(caller, groupId, request, {
      list: 'blocks',
      right: 'unblock',
      read: (db, { group }, position) => blocks.list(db, group, position),
      count: (db, { group }) => blocks.count(db, group),
    })
  }

  /** All admins without the owner, otherwise as {@link list}. */
  async listAdmins(caller: GroupCaller, groupId: Int64): Promise<Member[]> {
    const { access, lists } = this.options
    return access.read(caller, groupId, 'read', async (db, scene) =>
      this.#asSeen(scene, await lists.listAdmins(db, scene.group)),
    )
  }

  /**
   * In the order asked for and each once; those who are no members are left out. Otherwise as {@link list}.
   * @throws AppError group_not_found, member_required
   */
  async findMany(
    caller: GroupCaller,
    groupId: Int64,
    userIds: readonly Int64[],
  ): Promise<Member[]> {
    const { access, members } = this.options
    const distinct = [...new Set(userIds)]
    return access.read(caller, groupId, 'read', async (db, scene) => {
      const found: Member[] = []
      for (const chunk of chunksOf(distinct, lookUpChunk)) {
        const known = await members.findMany(db, scene.group, chunk)
        found.push(...chunk.flatMap((userId) => known.get(userId) ?? []))
      }
      return this.#asSeen(scene, found)
    })
  }

  async #page<T extends { readonly userId: Int64 }>(
    caller: GroupCaller,
    groupId: Int64,
    { cursor, limit = maxPage }: PageRequest,
    of: {
      readonly list: GroupList
      readonly right: GroupRightName
      readonly read: (db: Executor, scene: Scene, position: Position) => Promise<readonly T[]>
      readonly count: (db: Executor, scene: Scene) => Promise<number>
    },
  ): Promise<GroupPage<T>> {
    const afterId = readCursor(cursor)
    const length = Math.min(limit, maxPage)
    return this.options.access.read(caller, groupId, of.right, async (db, scene) => {
      const found = await of.read(db, scene, { afterId, limit: length + 1 })
      const entries = found.slice(0, length)
      const nextCursor = found.length > length ? String(entries.at(-1)?.userId) : null
      return {
        entries,
        nextCursor,
        total: await of.count(db, scene),
        version: scene.group.versions[of.list],
      }
    })
  }

  /** A ban that has passed is none, and the names of others may be hidden from ordinary members (decision F9). */
  async #asSeen(
    { caller, group, standing, now }: Scene,
    found: readonly Member[],
  ): Promise<Member[]> {
    const { apps } = this.options
    const mayHide = group.flags.hide_member_info && standing === 'member'
    const hidesNames = mayHide && (await apps.get(caller.appId)).settings.hide_member_info
    return found.map((member) => ({
      ...member,
      displayName: hidesNames && member.userId !== caller.userId ? '' : member.displayName,
      banExpiresAt: isBanned(member.banExpiresAt, now) ? member.banExpiresAt : 0,
    }))
  }
}

/** A cursor is the last user ID of the page before. */
function readCursor(cursor = ''): number {
  if (!/^(\d{0,15}|[1-8]\d{15})$/.test(cursor))
    throw new AppError('invalid_parameter', 'cursor must be one that a page before has returned')
  return Number(cursor)
}
