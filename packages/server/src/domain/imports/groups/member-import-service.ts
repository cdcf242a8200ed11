import { AppError, groupStatus, type Int64, memberRole, systemUserId } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Clock } from '../../../lib/clock.js'
import { groupBy } from '../../../lib/group-by.js'
import type { AppService } from '../../apps/app-service.js'
import type { GroupEvents } from '../../groups/core/group-events.js'
import {
  adminsPerGroup,
  type Group,
  groupEvent,
  type Member,
} from '../../groups/core/group-model.js'
import type { ItemOutcome } from '../../item-outcome.js'
import { groupConversation } from '../../messaging/model/conversation-model.js'
import { LockedUsers, type UserLocker } from '../../users/locked-users.js'
import type { ImportKey } from '../import-model.js'
import type { ImportStore } from '../import-store.js'
import { keyOf } from '../messages/history-plan.js'
import type { GroupRows, MemberRows } from '../ports.js'
import type { ImportedPositions, LockedEnd, SenderEnds } from './imported-positions.js'
import type { MemberItem } from './member-model.js'

interface MemberImportOptions {
  readonly database: Database
  readonly apps: Pick<AppService, 'get'>
  readonly imports: Pick<ImportStore, 'open'>
  readonly users: UserLocker
  readonly groups: GroupRows
  readonly members: MemberRows
  readonly positions: ImportedPositions
  readonly events: GroupEvents
  readonly clock: Clock
}

/** The result of one member. */
export interface ImportedMemberAs {
  /** false: was a member before, or is a party */
  readonly isNew: boolean
}

/** Members of one transaction, since sends wait for it. */
const membersPerStep = 200

/** Imports members of groups, and what readers have read. */
export class MemberImportService {
  constructor(private readonly options: MemberImportOptions) {}

  /**
   * Adds members and moves their positions, each conversation in transactions of its own.
   * @returns user_not_found, user_deleted, group_not_found, conversation_not_found, admin_limit_reached,
   * invalid_parameter
   * @throws AppError app_not_found, import_finished
   */
  async import(
    key: ImportKey,
    items: readonly MemberItem[],
  ): Promise<ItemOutcome<ImportedMemberAs>[]> {
    const { database, apps, imports, clock } = this.options
    await apps.get(key.appId)
    await database.transaction((tx) => imports.open(tx, key, clock.now()))
    const outcomes = new Map<MemberItem, ItemOutcome<ImportedMemberAs>>()
    for (const ofOne of groupBy(items, ({ conversation }) => keyOf(conversation)).values())
      await this.#storeAll(key, ofOne, outcomes)
    return items.map((item) => outcomes.get(item) as ItemOutcome<ImportedMemberAs>)
  }

  /** @param items of one conversation */
  async #storeAll(
    key: ImportKey,
    items: readonly MemberItem[],
    outcomes: Map<MemberItem, ItemOutcome<ImportedMemberAs>>,
  ): Promise<void> {
    let ends: SenderEnds | null = null
    for (const step of chunksOf(items, membersPerStep)) {
      const before: SenderEnds | null = ends
      const stored: StoredStep = await this.options.database.transaction((tx) =>
        this.#store(tx, key, { items: step, before }),
      )
      ends = stored.ends
      for (const [index, item] of step.entries())
        outcomes.set(item, stored.results[index] as ItemOutcome<ImportedMemberAs>)
    }
  }

  async #store(
    tx: Tx,
    key: ImportKey,
    {
      items,
      before,
    }: { readonly items: readonly MemberItem[]; readonly before: SenderEnds | null },
  ): Promise<StoredStep> {
    const { imports, users: locker, groups, positions, clock } = this.options
    const [{ conversation } = {} as MemberItem] = items
    const now = clock.now()
    await imports.open(tx, key, now)
    const userIds = items.map(({ userId }) => userId)
    const users = await LockedUsers.lockNoKeyUpdate(tx, locker, key.appId, userIds)
    const groupId = conversation.lowId
    const group = conversation.isGroup
      ? await groups.lockForUpdate(tx, { appId: key.appId, groupId })
      : null
    const end = await positions.lockEnd(tx, conversation)
    const missing = conversation.isGroup
      ? group?.status === groupStatus.normal
        ? null
        : 'group_not_found'
      : end.seq > 0
        ? null
        : 'conversation_not_found'
    const beyond = group ? await this.#beyondAdmins(tx, group, items) : new Set<Int64>()
    const refusalOf = ({ userId, joinedAt, role }: MemberItem): AppError | null => {
      const refusal = users.refusal(userId) ?? missing
      if (refusal) return new AppError(refusal)
      if (role === memberRole.admin && beyond.has(userId))
        return new AppError('admin_limit_reached')
      return (joinedAt ?? 0) > now
        ? new AppError('invalid_parameter', 'joined_at must not be in the future')
        : null
    }
    const refusals = items.map(refusalOf)
    const accepted = items.filter((_, index) => refusals[index] === null)
    const added = group ? await this.#join(tx, group, { items: accepted, now, end }) : null
    const isHidden = group !== null && !group.flags.history_visible
    const moving = { items: accepted, end, now, isHidden, ends: before }
    const ends = await positions.move(tx, conversation, moving)
    const results = items.map(
      (item, index) => refusals[index] ?? { isNew: added?.has(item) ?? false },
    )
    return { results, ends }
  }

  /** Finds the users who would be admins beyond the limit of a group. */
  async #beyondAdmins(
    tx: Tx,
    group: Group,
    items: readonly MemberItem[],
  ): Promise<ReadonlySet<Int64>> {
    const { members } = this.options
    const wanted = items.filter(({ role }) => role === memberRole.admin)
    const userIds = [...new Set(wanted.map(({ userId }) => userId))]
    if (userIds.length === 0) return new Set()
    const known = await members.findMany(tx, group, userIds)
    const appointed = userIds.filter(
      (userId) => (known.get(userId)?.role ?? memberRole.member) === memberRole.member,
    )
    const room = adminsPerGroup - (await members.countAdmins(tx, group))
    return new Set(appointed.slice(Math.max(room, 0)))
  }

  /** Adds those who are no members yet, and gives the others their roles. */
  async #join(
    tx: Tx,
    group: Group,
    { items, now, end }: Joining,
  ): Promise<ReadonlySet<MemberItem>> {
    const { members, groups, positions } = this.options
    const known = await members.findMany(
      tx,
      group,
      items.map(({ userId }) => userId),
    )
    const last = new Map(items.map((item) => [item.userId, item]))
    const fresh = [...last.values()].filter(({ userId }) => !known.has(userId))
    const changed = [...last.values()].filter(({ userId, role }) =>
      hasOtherRole(known.get(userId), role),
    )
    if (fresh.length > 0) {
      const { appId: app_id, groupId: group_id } = group
      const rows = fresh.map(({ userId: user_id, role, joinedAt }) => ({
        ...{ app_id, group_id, user_id, role, joined_at: joinedAt ?? now, is_added: 1 },
      }))
      await members.insert(tx, rows)
      await positions.begin(tx, groupConversation(app_id, group_id), { items: fresh, end })
      await groups.touch(tx, group, ['members'], now, { members: fresh.length })
      const count = group.memberCount + fresh.length
      if (count > group.capacity) await groups.update(tx, group, { capacity: count })
    }
    for (const role of new Set(changed.map((item) => item.role)))
      await members.update(
        tx,
        group,
        changed.filter((item) => item.role === role).map(({ userId }) => userId),
        { role },
      )
    if (fresh.length === 0 && changed.length > 0) await groups.touch(tx, group, ['members'], now)
    this.#announce(tx, group, { fresh, changed, end })
    return new Set(fresh)
  }

  #announce(tx: Tx, group: Group, { fresh, changed, end }: Pick<Joining, 'end'> & Announced): void {
    const { events } = this.options
    const idsOf = (items: readonly MemberItem[]) => items.map(({ userId }) => userId)
    const admins = [...fresh, ...changed].filter(({ role }) => role === memberRole.admin)
    const others = changed.filter(({ role }) => role === memberRole.member)
    if (fresh.length > 0)
      events.append(
        tx,
        group,
        groupEvent(group, 'joined', systemUserId, idsOf(fresh), {
          log: { change: end.change, seq: end.seq, msg_id: end.lastMessageId },
          history_visible: group.flags.history_visible,
          member_count: group.memberCount + fresh.length,
        }),
      )
    const roles = [
      { kind: 'admin_granted', of: admins, role: memberRole.admin },
      { kind: 'admin_revoked', of: others, role: memberRole.member },
    ] as const
    for (const { kind, of, role } of roles)
      if (of.length > 0)
        events.append(tx, group, groupEvent(group, kind, systemUserId, idsOf(of), { role }))
  }
}

interface StoredStep {
  readonly results: readonly ItemOutcome<ImportedMemberAs>[]
  readonly ends: SenderEnds | null
}

interface Announced {
  readonly fresh: readonly MemberItem[]
  readonly changed: readonly MemberItem[]
}

interface Joining {
  readonly items: readonly MemberItem[]
  readonly now: number
  readonly end: LockedEnd
}

function hasOtherRole(member: Member | undefined, role: number): boolean {
  return member !== undefined && member.role !== role && member.role !== memberRole.owner
}
