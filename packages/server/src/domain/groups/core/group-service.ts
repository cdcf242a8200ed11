import { AppError, type AppSettings, groupStatus, type Int64, memberRole } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { IdGenerator } from '../../../lib/ids/ids.js'
import type { AppService } from '../../apps/app-service.js'
import { readAppSettings } from '../../apps/app-settings.js'
import { requireName } from '../../names.js'
import { LockedUsers, type UserLocker } from '../../users/locked-users.js'
import type { GroupInviter } from '../admission/group-inviter.js'
import type { OpenAdmissions } from '../admission/open-admissions.js'
import type { GroupConversations } from '../membership/group-conversations.js'
import type { MemberStore } from '../membership/member-store.js'
import type { GroupAccess, GroupCaller, GroupContext } from './group-access.js'
import type { GroupEvents } from './group-events.js'
import {
  countBans,
  type Group,
  type GroupKey,
  groupEvent,
  type Member,
  nextUpdate,
  usualCapacity,
} from './group-model.js'
import type { GroupStore } from './group-store.js'

interface GroupServiceOptions {
  readonly database: Database
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly conversations: Pick<GroupConversations, 'begin' | 'end'>
  readonly users: UserLocker
  readonly admissions: OpenAdmissions
  readonly apps: AppService
  readonly access: GroupAccess
  readonly inviter: GroupInviter
  readonly events: GroupEvents
  readonly ids: IdGenerator
  readonly clock: Clock
}

/** Initial settings of a group. */
export interface NewGroup {
  readonly type: number
  readonly name: string
  readonly avatar: string
  readonly description: string
  /** Users to invite; those who cannot be invited are left out. */
  readonly userIds: readonly Int64[]
}

/** A group as shown to a user. */
export interface GroupView {
  readonly group: Group
  /** The viewer's own membership. */
  readonly member: Member | null
}

const maxPublicGroups = 10_000

/** Creates, reads, transfers and dissolves groups (rule F2). */
export class GroupService {
  constructor(private readonly options: GroupServiceOptions) {}

  /**
   * Creates a group; the caller becomes its owner and a member.
   * @param caller acts for a user
   * @throws AppError invalid_parameter, user_not_found, user_deleted, app_group_limit_reached,
   * created_group_limit_reached, joined_group_limit_reached
   */
  async create(
    caller: GroupCaller & { readonly userId: Int64 },
    { userIds, ...info }: NewGroup,
  ): Promise<GroupView> {
    const {
      database,
      groups,
      members,
      conversations,
      users: locker,
      inviter,
      events,
      ids,
      clock,
      access,
      apps,
    } = this.options
    const { appId, userId: ownerId } = caller
    requireName(info.name, 'name')
    const key: GroupKey = { appId, groupId: await ids.next() }
    const invitedIds = [...new Set(userIds)].filter((userId) => userId !== ownerId)
    const app = await apps.get(appId, 'current')
    return database.transaction(async (tx) => {
      const now = clock.now()
      if (app.settings.group_limit > 0) await this.#requireRoom(tx, appId)
      const users = await LockedUsers.lockNoKeyUpdate(tx, locker, appId, [ownerId, ...invitedIds])
      users.require(ownerId)
      const limits = await readAppSettings(tx, appId)
      await this.#requireFewOwned(tx, appId, ownerId, limits)
      await this.#requireFewJoined(tx, appId, ownerId, limits)
      const capacity = usualCapacity(app.settings)
      const row = {
        app_id: appId,
        group_id: key.groupId,
        owner_id: ownerId,
        capacity,
        member_count: 1,
      }
      await groups.insert(tx, {
        ...row,
        ...info,
        created_at: now,
        updated_at: now,
        members_changed_at: now,
      })
      const { owner: role } = memberRole
      await members.insert(tx, [
        { app_id: appId, group_id: key.groupId, user_id: ownerId, role, joined_at: now },
      ])
      await conversations.begin(tx, key, ownerId)
      const member = await members.find(tx, key, ownerId)
      const group = await groups.find(tx, key)
      if (!group || !member) throw new Error('a new group has vanished')
      events.append(
        tx,
        group,
        groupEvent(key, 'created', ownerId, [ownerId], {
          history_visible: group.flags.history_visible,
        }),
      )
      const context = {
        caller,
        group,
        member,
        role: access.roleOf(caller, group, member),
        now,
        users,
      }
      const created = (stored: Group) => ({
        group: { ...stored, version: events.versionOf(tx, group) },
        member,
      })
      if (invitedIds.length === 0) return created(group)
      await inviter.addOrInvite(tx, context, invitedIds, { isInvitation: true, reason: '' })
      return created((await groups.find(tx, key)) ?? group)
    })
  }

  /** @throws AppError group_not_found, member_required */
  async get(caller: GroupCaller, groupId: Int64): Promise<GroupView> {
    return this.options.access.read(caller, groupId, 'info', async (_, { group, member }) => ({
      group,
      member,
    }))
  }

  /**
   * Returns those of the groups that the caller may see, in the order of the list, without
   * repetitions.
   */
  async getMany(caller: GroupCaller, groupIds: readonly Int64[]): Promise<GroupView[]> {
    return this.options.access.readMany(caller, groupIds, 'info')
  }

  /** Lists the newest public groups of the app, newest first. */
  async listPublic({ appId }: GroupCaller): Promise<Int64[]> {
    const { database, groups } = this.options
    return database.read((db) => groups.listPublic(db, appId, maxPublicGroups))
  }

  /** Lists the groups of the user, oldest first, without dissolved ones. */
  async listJoined({ appId, userId }: GroupCaller & { readonly userId: Int64 }): Promise<Int64[]> {
    const { database, members } = this.options
    return database.read((db) => members.listGroups(db, appId, userId))
  }

  /**
   * Dissolves a group. Members and messages stay, so that former members can read the history (rule
   * F8).
   * @throws AppError group_not_found, group_owner_required
   */
  async dissolve(caller: GroupCaller, groupId: Int64): Promise<void> {
    const { access, groups, conversations, admissions, events } = this.options
    await access.change(caller, groupId, 'dissolve', {}, async (tx, { group, now }) => {
      const updated_at = nextUpdate(group, now)
      await groups.update(tx, group, { status: groupStatus.dissolved, updated_at })
      await conversations.end(tx, group)
      await admissions.closeAll(tx, group.appId, [groupId], now)
      events.append(tx, group, groupEvent(group, 'destroyed', caller.actorId, [], { updated_at }))
    })
  }

  /**
   * Makes a member the owner and the owner an ordinary member (rule F4a). Changes nothing if the
   * member is the owner already.
   * @throws AppError group_not_found, group_owner_required, new_owner_not_member,
   * created_group_limit_reached
   */
  async transfer(caller: GroupCaller, groupId: Int64, newOwnerId: Int64): Promise<void> {
    const { access, members } = this.options
    await access.change(
      caller,
      groupId,
      'transfer',
      { userIds: [newOwnerId] },
      async (tx, context) => {
        const { group, users } = context
        const newOwner =
          users.refusal(newOwnerId) === null ? await members.find(tx, group, newOwnerId) : null
        if (!newOwner) throw new AppError('new_owner_not_member')
        if (newOwnerId !== group.ownerId) await this.#transferOwnership(tx, context, newOwner)
      },
    )
  }

  async #transferOwnership(
    tx: Tx,
    { caller, group, now }: GroupContext,
    newOwner: Member,
  ): Promise<void> {
    const { groups, members, events } = this.options
    await this.#requireFewOwned(
      tx,
      group.appId,
      newOwner.userId,
      await readAppSettings(tx, group.appId),
    )
    await members.update(tx, group, [group.ownerId], { role: memberRole.member })
    // An owner cannot be banned.
    await members.update(tx, group, [newOwner.userId], {
      role: memberRole.owner,
      ban_expires_at: 0,
    })
    const updated_at = nextUpdate(group, now)
    await groups.update(tx, group, { owner_id: newOwner.userId, updated_at })
    const bans = countBans([newOwner.banExpiresAt])
    await groups.touch(tx, group, bans > 0 ? ['members', 'bans'] : ['members'], now, {
      bans: -bans,
    })
    events.append(
      tx,
      group,
      groupEvent(group, 'owner_assigned', caller.actorId, [newOwner.userId], {
        former_owner_id: group.ownerId,
        role: memberRole.owner,
        expired_time: 0,
        updated_at,
      }),
    )
  }

  /** Checks the limit of groups under a lock, so that it is exact. */
  async #requireRoom(tx: Tx, appId: string): Promise<void> {
    const { apps, groups } = this.options
    const { settings } = await apps.lockForUpdate(tx, appId)
    if (settings.group_limit > 0 && (await groups.count(tx, { appId })) >= settings.group_limit)
      throw new AppError('app_group_limit_reached')
  }

  async #requireFewJoined(
    tx: Tx,
    appId: string,
    userId: Int64,
    { group_member_limit: limit }: AppSettings,
  ): Promise<void> {
    const isInTooMany = await this.options.members.findInTooMany(tx, appId, [userId], limit)
    if (isInTooMany.size > 0) throw new AppError('joined_group_limit_reached')
  }

  async #requireFewOwned(
    tx: Tx,
    appId: string,
    ownerId: Int64,
    { group_owner_limit: limit }: AppSettings,
  ): Promise<void> {
    if ((await this.options.groups.count(tx, { appId, ownerId })) >= limit)
      throw new AppError('created_group_limit_reached')
  }
}
