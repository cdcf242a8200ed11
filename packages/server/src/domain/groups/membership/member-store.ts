import type { Int64 } from '@hermod/protocol'
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { GroupMembersTable } from '../../../db/schema.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'
import {
  admissionStatus,
  type GroupKey,
  groupStatus,
  type Member,
  type MemberKey,
  memberRole,
} from '../core/group-model.js'
import { isGroup } from '../core/group-store.js'

export type MemberChanges = Pick<
  Updateable<GroupMembersTable>,
  'role' | 'display_name' | 'ban_expires_at' | 'msg_mute_mode' | 'msg_push_mode' | 'seen_seq'
>

/** What a group remembers of somebody who was a member. */
export interface Removal {
  readonly kicks: number
  /** Milliseconds; 0 = no ban, -1 = permanent. It may have passed. */
  readonly banExpiresAt: number
}

/** The end of a group's conversation. */
export interface ConversationEnd {
  readonly seq: number
  readonly lastMessageId: number
}

export const memberColumns = [
  'user_id',
  'role',
  'display_name',
  'ban_expires_at',
  'msg_mute_mode',
  'msg_push_mode',
  'joined_at',
] as const

export type MemberRow = Pick<Selectable<GroupMembersTable>, (typeof memberColumns)[number]>

const rowsPerStatement = 500

/** Who is in which group, who may not be, and what is remembered of those who were. */
export class MemberStore {
  readonly #database: Database
  readonly #cache: Invalidates<MemberKey>
  readonly #find

  constructor(database: Database, cache: Invalidates<MemberKey>) {
    this.#database = database
    this.#cache = cache
    this.#find = database.prepared<MemberKey, MemberRow>((db, param) =>
      db
        .selectFrom('group_members')
        .select(memberColumns)
        .where('app_id', '=', param('appId'))
        .where('group_id', '=', param('groupId'))
        .where('user_id', '=', param('userId')),
    )
  }

  async find(db: Queryable, { appId, groupId }: GroupKey, userId: Int64): Promise<Member | null> {
    const row = await this.#find.first(db, { appId, groupId, userId })
    return row ? toMember(row) : null
  }

  /** Those of the users who are members. */
  async findMany(
    db: Queryable,
    group: GroupKey,
    userIds: readonly Int64[],
  ): Promise<Map<Int64, Member>> {
    if (userIds.length === 0) return new Map()
    const rows = await db
      .selectFrom('group_members')
      .select(memberColumns)
      .where(isGroup(group))
      .where('user_id', 'in', userIds)
      .execute()
    return new Map(rows.map((row) => [row.user_id, toMember(row)]))
  }

  /** The memberships of one user in those of the groups that the user is in, by group. */
  async findOwn(
    db: Queryable,
    appId: string,
    userId: Int64,
    groupIds: readonly Int64[],
  ): Promise<Map<Int64, Member>> {
    if (groupIds.length === 0) return new Map()
    const rows = await db
      .selectFrom('group_members')
      .select([...memberColumns, 'group_id'])
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('group_id', 'in', groupIds)
      .execute()
    return new Map(rows.map((row) => [row.group_id, toMember(row)]))
  }

  /** The groups that the user is in, oldest first; dissolved ones are left out. */
  async listGroups(db: Queryable, appId: string, userId: Int64): Promise<Int64[]> {
    const rows = await db
      .selectFrom('group_members as m')
      .innerJoin('groups as g', (join) =>
        join.onRef('g.app_id', '=', 'm.app_id').onRef('g.group_id', '=', 'm.group_id'),
      )
      .select('m.group_id')
      .where('m.app_id', '=', appId)
      .where('m.user_id', '=', userId)
      .where('g.status', '=', groupStatus.normal)
      .orderBy('m.group_id')
      .execute()
    return rows.map((row) => row.group_id)
  }

  async insert(tx: Tx, members: readonly Insertable<GroupMembersTable>[]): Promise<void> {
    for (const chunk of chunksOf(members, rowsPerStatement))
      await tx.insertInto('group_members').values(chunk).execute()
  }

  async update(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    changes: MemberChanges,
  ): Promise<void> {
    if (userIds.length === 0) return
    this.#forget(tx, group, userIds)
    await tx
      .updateTable('group_members')
      .set(changes)
      .where(isGroup(group))
      .where('user_id', 'in', userIds)
      .execute()
  }

  /** What the group's conversation holds so far is not unread for the user. */
  async skip(tx: Tx, group: GroupKey, userId: Int64): Promise<void> {
    const { seq } = await this.conversationEnd(tx, group, { isHeld: false })
    await tx
      .updateTable('group_members')
      .set({ seen_seq: seq })
      .where(isGroup(group))
      .where('user_id', '=', userId)
      .where('seen_seq', '<', seq)
      .execute()
  }

  /** Also takes what members only may have: the pin of the group's conversation. */
  async delete(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<void> {
    if (userIds.length === 0) return
    this.#forget(tx, group, userIds)
    await tx
      .deleteFrom('group_members')
      .where(isGroup(group))
      .where('user_id', 'in', userIds)
      .execute()
    await tx
      .deleteFrom('pinned_conversations')
      .where('app_id', '=', group.appId)
      .where('conversation_id', '=', group.groupId)
      .where('user_id', 'in', userIds)
      .execute()
  }

  async countAdmins(tx: Tx, group: GroupKey): Promise<number> {
    const found = tx
      .selectFrom('group_members')
      .select(tx.fn.countAll().as('count'))
      .where(isGroup(group))
    // With the condition of the partial index in so many words.
    const { count } = await found
      .where(sql<boolean>`role <> 0 and role = ${memberRole.admin}`)
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  /**
   * Those of the users who are in `limit` groups or more; dissolved ones do not count. Few are, so that a rough count, with the dissolved
   * ones and no further than the limit, answers it for the others.
   */
  async findInTooMany(
    tx: Tx,
    appId: string,
    userIds: readonly Int64[],
    limit: number,
  ): Promise<Set<Int64>> {
    const rough = await tx
      .selectFrom('users as u')
      .select('u.user_id')
      .where('u.app_id', '=', appId)
      .where('u.user_id', 'in', userIds)
      .where(
        sql<boolean>`(select count(*) from (select 1 from group_members m where m.app_id = u.app_id and m.user_id = u.user_id limit ${limit}) few) >= ${limit}`,
      )
      .execute()
    if (rough.length === 0) return new Set()
    const rows = await tx
      .selectFrom('group_members as m')
      .innerJoin('groups as g', (join) =>
        join.onRef('g.app_id', '=', 'm.app_id').onRef('g.group_id', '=', 'm.group_id'),
      )
      .select('m.user_id')
      .where('m.app_id', '=', appId)
      .where(
        'm.user_id',
        'in',
        rough.map((row) => row.user_id),
      )
      .where('g.status', '=', groupStatus.normal)
      .groupBy('m.user_id')
      .having((eb) => eb.fn.countAll(), '>=', limit)
      .execute()
    return new Set(rows.map((row) => row.user_id))
  }

  /** Those of the users who are on the block list. */
  async findBlocked(
    db: Queryable,
    group: GroupKey,
    userIds: readonly Int64[],
  ): Promise<Set<Int64>> {
    if (userIds.length === 0) return new Set()
    const rows = await db
      .selectFrom('group_blocks')
      .select('user_id')
      .where(isGroup(group))
      .where('user_id', 'in', userIds)
      .execute()
    return new Set(rows.map((row) => row.user_id))
  }

  async findRemovals(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
  ): Promise<Map<Int64, Removal>> {
    if (userIds.length === 0) return new Map()
    const rows = await tx
      .selectFrom('group_removals')
      .selectAll()
      .where(isGroup(group))
      .where('user_id', 'in', userIds)
      .execute()
    return new Map(
      rows.map((row) => [row.user_id, { kicks: row.kicks, banExpiresAt: row.ban_expires_at }]),
    )
  }

  /** Remembers those whose membership ends: one more kick each, or none, and their bans. */
  async remember(
    tx: Tx,
    { appId, groupId }: GroupKey,
    members: readonly Member[],
    kicks: 0 | 1,
  ): Promise<void> {
    const rows = members
      .filter(({ banExpiresAt }) => kicks > 0 || banExpiresAt !== 0)
      .map(({ userId, banExpiresAt }) => ({
        app_id: appId,
        group_id: groupId,
        user_id: userId,
        kicks,
        ban_expires_at: banExpiresAt,
      }))
    for (const chunk of chunksOf(rows, rowsPerStatement)) {
      await tx
        .insertInto('group_removals')
        .values(chunk)
        .onConflict((conflict) =>
          conflict.columns(['app_id', 'group_id', 'user_id']).doUpdateSet({
            kicks: sql<number>`group_removals.kicks + excluded.kicks`,
            ban_expires_at: sql<number>`excluded.ban_expires_at`,
          }),
        )
        .execute()
    }
  }

  /** To be called when the bans are those of members again. */
  async forgetBans(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<void> {
    if (userIds.length === 0) return
    await tx
      .updateTable('group_removals')
      .set({ ban_expires_at: 0 })
      .where(isGroup(group))
      .where('user_id', 'in', userIds)
      .execute()
  }

  /** Whether the user has an invitation that can still be answered. */
  async isInvited(
    db: Queryable,
    { appId, groupId }: GroupKey,
    userId: Int64,
    now: number,
  ): Promise<boolean> {
    return (await this.findInviting(db, appId, userId, [groupId], now)).has(groupId)
  }

  /** Those of the groups to which the user has an invitation that can still be answered. */
  async findInviting(
    db: Queryable,
    appId: string,
    userId: Int64,
    groupIds: readonly Int64[],
    now: number,
  ): Promise<Set<Int64>> {
    if (groupIds.length === 0) return new Set()
    const rows = await db
      .selectFrom('group_invitations')
      .select('group_id')
      .where('app_id', '=', appId)
      .where('group_id', 'in', groupIds)
      .where('invitee_id', '=', userId)
      .where('status', '=', admissionStatus.pending)
      .where('expires_at', '>', now)
      .execute()
    return new Set(rows.map((row) => row.group_id))
  }

  /**
   * What is open between the group and the users ends: applications and invitations.
   * @param userIds null = all users
   */
  async settle(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[] | null,
    status: 'agreed' | 'rejected',
    now: number,
  ): Promise<void> {
    if (userIds?.length === 0) return
    const changes = { status: admissionStatus[status], updated_at: now }
    const { pending } = admissionStatus
    await tx
      .updateTable('group_join_requests')
      .set(changes)
      .where(isGroup(group))
      .$if(userIds !== null, (query) => query.where('applicant_id', 'in', userIds ?? []))
      .where('status', '=', pending)
      .execute()
    await tx
      .updateTable('group_invitations')
      .set(changes)
      .where(isGroup(group))
      .$if(userIds !== null, (query) => query.where('invitee_id', 'in', userIds ?? []))
      .where('status', '=', pending)
      .execute()
  }

  /**
   * Where the group's conversation ends.
   * @param isHeld sends wait until the transaction ends, so that what comes later is new to whoever joins now; before any member is locked
   */
  async conversationEnd(
    tx: Tx,
    { appId, groupId }: GroupKey,
    { isHeld }: { readonly isHeld: boolean },
  ): Promise<ConversationEnd> {
    const found = tx
      .selectFrom('conversations')
      .select(['seq', 'last_msg_id'])
      .where('app_id', '=', appId)
      .where('low_id', '=', groupId)
      .where('high_id', '=', groupId)
    const row = await (isHeld && this.#database.dialect.rowLocks
      ? found.forShare()
      : found
    ).executeTakeFirst()
    return { seq: row?.seq ?? 0, lastMessageId: row?.last_msg_id ?? 0 }
  }

  #forget(tx: Tx, { appId, groupId }: GroupKey, userIds: readonly Int64[]): void {
    for (const userId of userIds) this.#cache.forget(tx, { appId, groupId, userId })
  }
}

export function toMember(row: MemberRow): Member {
  return {
    userId: row.user_id,
    role: row.role,
    displayName: row.display_name,
    banExpiresAt: row.ban_expires_at,
    muteMode: row.msg_mute_mode,
    pushMode: row.msg_push_mode,
    joinedAt: row.joined_at,
  }
}
