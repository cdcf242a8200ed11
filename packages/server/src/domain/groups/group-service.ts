import { AppError, type Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../db/database.js'
import type { Clock } from '../../lib/clock.js'
import type { IdGenerator } from '../../lib/ids.js'
import { LockedUsers, type UserLocker } from '../accounts/locked-users.js'
import type { ApplicationService } from '../applications/application-service.js'
import { readSettings } from '../applications/application-settings.js'
import type { EventService } from '../events/event-service.js'
import type { GroupAccess, GroupCaller } from './group-access.js'
import type { GroupFacts } from './group-facts.js'
import type { GroupInviter } from './group-inviter.js'
import { type Group, type GroupKey, groupEvent, type Member, memberRole } from './group-model.js'
import type { GroupStore } from './group-store.js'
import type { MemberStore } from './member-store.js'

export interface GroupServiceOptions {
  readonly database: Database
  readonly groups: GroupStore
  readonly members: MemberStore
  readonly users: UserLocker
  readonly applications: ApplicationService
  readonly access: GroupAccess
  readonly facts: GroupFacts
  readonly inviter: GroupInviter
  readonly events: EventService
  readonly ids: IdGenerator
  readonly clock: Clock
}

export interface NewGroup {
  readonly type: number
  readonly name: string
  readonly avatar: string
  readonly description: string
  /** Users to be invited; whoever cannot be is left out. */
  readonly userIds: readonly Int64[]
}

/** A group as somebody sees it. */
export interface GroupView {
  readonly group: Group
  /** The viewer's own membership. */
  readonly member: Member | null
}

const defaultCapacity = 2_000

/** The groups themselves: making and reading them (decision F2). */
export class GroupService {
  constructor(private readonly options: GroupServiceOptions) {}

  /**
   * The caller is the owner and a member.
   * @param caller for a user
   * @throws AppError user_not_found, user_deleted, application_group_limit_reached, created_group_limit_reached, joined_group_limit_reached
   */
  async create(caller: GroupCaller & { readonly userId: Int64 }, { userIds, ...info }: NewGroup): Promise<GroupView> {
    const { database, groups, members, users: locker, facts, inviter, events, ids, clock, access, applications } = this.options
    const { appId, userId: ownerId } = caller
    const key: GroupKey = { appId, groupId: await ids.next() }
    const invitedIds = [...new Set(userIds)].filter((userId) => userId !== ownerId)
    const application = await applications.get(appId)
    try {
      return await database.transaction(async (tx) => {
        const now = clock.now()
        if (application.settings.group_limit > 0) await this.#requireRoom(tx, appId)
        const users = await LockedUsers.lock(tx, locker, appId, [ownerId, ...invitedIds])
        users.require(ownerId)
        await this.#requireFreeOwner(tx, appId, ownerId)
        const capacity = Math.min(defaultCapacity, application.settings.group_capacity_limit)
        const row = { app_id: appId, group_id: key.groupId, owner_id: ownerId, capacity, member_count: 1 }
        await groups.insert(tx, { ...row, ...info, created_at: now, updated_at: now, members_changed_at: now })
        const { owner: role } = memberRole
        await members.insert(tx, [{ app_id: appId, group_id: key.groupId, user_id: ownerId, role, joined_at: now }])
        await events.append(tx, groupEvent(key, 'created', ownerId, [ownerId]))
        const member = await members.find(tx, key, ownerId)
        const group = await groups.lock(tx, key)
        if (!group || !member) throw new Error('a new group has vanished')
        const scene = { caller, group, member, standing: access.standingOf(caller, group, member), now, users }
        if (invitedIds.length > 0) await inviter.invite(tx, scene, invitedIds, '')
        return { group: (await groups.find(tx, key)) ?? group, member }
      })
    } finally {
      facts.forget(key, [ownerId, ...invitedIds])
    }
  }

  /** @throws AppError group_not_found, member_required */
  async get(caller: GroupCaller, groupId: Int64): Promise<GroupView> {
    return this.options.access.read(caller, groupId, 'info', async (_, { group, member }) => ({ group, member }))
  }

  /** Counted under a lock, so that the limit holds. */
  async #requireRoom(tx: Tx, appId: string): Promise<void> {
    const { applications, groups } = this.options
    const { settings } = await applications.lock(tx, appId)
    if (settings.group_limit > 0 && (await groups.count(tx, { appId })) >= settings.group_limit)
      throw new AppError('application_group_limit_reached')
  }

  async #requireFreeOwner(tx: Tx, appId: string, ownerId: Int64): Promise<void> {
    const { groups, members } = this.options
    const { group_owner_limit: ownerLimit, group_member_limit: memberLimit } = await readSettings(tx, appId)
    if ((await groups.count(tx, { appId, ownerId })) >= ownerLimit) throw new AppError('created_group_limit_reached')
    const joined = (await members.countGroups(tx, appId, [ownerId])).get(ownerId) ?? 0
    if (joined >= memberLimit) throw new AppError('joined_group_limit_reached')
  }
}
