import { groupStatus, type Int64, memberRole } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { type Insertable, type Selectable, sql, type Updateable } from '../../../db/kysely.js'
import type { Schema } from '../../../db/schema.js'
import { chunksOf, paddedForPlanCache } from '../../../lib/chunks.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'
import type { UserKey } from '../../users/user-model.js'
import { type GroupKey, keysIn, type Member, type MemberKey } from '../core/group-model.js'
import { isGroup } from '../core/group-store.js'
import {
  type CountedMemberships,
  type changedColumns,
  countFewGroups,
  countGroups,
  deleteMembers,
  findGroupMembers,
  updateMembers,
} from './member-statements.js'

/** Columns that a change sets; omitted ones stay unchanged. */
export type MemberChanges = Pick<Updateable<Schema['group_members']>, keyof typeof changedColumns>

/** Columns that {@link toMember} needs. */
export const memberColumns = [
  'user_id',
  'role',
  'display_name',
  'ban_expires_at',
  'msg_mute_mode',
  'msg_push_mode',
  'joined_at',
] as const

export type MemberRow = Pick<Selectable<Schema['group_members']>, (typeof memberColumns)[number]>

const rowsPerStatement = 500

/** Memberships in groups. */
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

  /** Returns those of the users who are members. */
  async findMany(
    db: Queryable,
    group: GroupKey,
    userIds: readonly Int64[],
  ): Promise<Map<Int64, Member>> {
    const rows = await this.#database.bulk<MemberRow>(db, findGroupMembers, keysIn(group, userIds))
    return new Map(rows.map((row) => [row.user_id, toMember(row)]))
  }

  /** Returns the memberships of one user in the given groups, by group. */
  async findOwn(
    db: Queryable,
    appId: string,
    userId: Int64,
    groupIds: readonly Int64[],
  ): Promise<Map<Int64, Member>> {
    const rows = await this.#database.bulk<MemberRow & { group_id: Int64 }>(
      db,
      findGroupMembers,
      groupIds.map((groupId) => [appId, groupId, userId]),
    )
    return new Map(rows.map((row) => [row.group_id, toMember(row)]))
  }

  /** Lists the groups of the user, oldest first, without dissolved ones. */
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

  /** Lists the groups of the user, including dissolved ones. */
  async listAllGroups(tx: Tx, { appId, userId }: UserKey): Promise<Set<Int64>> {
    const rows = await tx
      .selectFrom('group_members')
      .select('group_id')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
    return new Set(rows.map((row) => row.group_id))
  }

  async insert(tx: Tx, members: readonly Insertable<Schema['group_members']>[]): Promise<void> {
    for (const chunk of chunksOf(members, rowsPerStatement))
      await tx.insertInto('group_members').values(chunk).execute()
  }

  async update(
    tx: Tx,
    group: GroupKey,
    userIds: readonly Int64[],
    changes: MemberChanges,
  ): Promise<void> {
    this.#forget(tx, group, userIds)
    const columns = Object.keys(changes) as (keyof MemberChanges)[]
    const values = columns.map((column) => changes[column])
    await this.#database.bulk(
      tx,
      updateMembers(columns),
      keysIn(group, userIds).map((key) => [...values, ...key]),
    )
  }

  async delete(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<void> {
    this.#forget(tx, group, userIds)
    await this.#database.bulk(tx, deleteMembers, keysIn(group, userIds))
  }

  /**
   * Gives the members named as owners of groups the role of owner; an owner cannot be banned.
   * @param owners by group
   */
  async appointOwners(tx: Tx, appId: string, owners: ReadonlyMap<Int64, Int64>): Promise<void> {
    for (const [groupId, userId] of owners) this.#cache.forget(tx, { appId, groupId, userId })
    for (const chunk of chunksOf([...owners.keys()], rowsPerStatement))
      await sql`update group_members as m set role = ${memberRole.owner}, ban_expires_at = 0 from groups g
        where g.app_id = ${appId} and g.group_id in (${sql.join(paddedForPlanCache(chunk))})
          and m.app_id = g.app_id and m.group_id = g.group_id and m.user_id = g.owner_id`.execute(
        tx,
      )
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    const rows = await tx
      .deleteFrom('group_members')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .returning('group_id')
      .execute()
    for (const row of rows) this.#cache.forget(tx, { appId, groupId: row.group_id, userId })
  }

  async countAdmins(tx: Tx, group: GroupKey): Promise<number> {
    const found = tx
      .selectFrom('group_members')
      .select(tx.fn.countAll().as('count'))
      .where(isGroup(group))
    // Repeats the condition of the partial index verbatim, so that the index is used.
    const { count } = await found
      .where(sql<boolean>`role <> 0 and role = ${memberRole.admin}`)
      .executeTakeFirstOrThrow()
    return Number(count)
  }

  /**
   * Returns those of the users who are in `limit` groups or more, without dissolved ones. Few users
   * are. A rough count, including dissolved groups and up to the limit, excludes all others.
   * @param counted `added`: counts only groups to which others added the user
   */
  async findInTooMany(
    tx: Tx,
    appId: string,
    userIds: readonly Int64[],
    limit: number,
    counted: CountedMemberships = 'all',
  ): Promise<Set<Int64>> {
    const counts = await this.#database.bulk<{ user_id: Int64; few: number }>(
      tx,
      countFewGroups(counted, limit),
      userIds.map((userId) => [appId, userId]),
    )
    const rough = counts.filter(({ few }) => few >= limit)
    const rows = await this.#database.bulk<{ user_id: Int64; groups: number }>(
      tx,
      countGroups(counted),
      rough.map((row) => [appId, row.user_id]),
    )
    return new Set(rows.filter(({ groups }) => groups >= limit).map((row) => row.user_id))
  }

  #forget(tx: Tx, { appId, groupId }: GroupKey, userIds: readonly Int64[]): void {
    for (const userId of userIds) this.#cache.forget(tx, { appId, groupId, userId })
  }
}

/** Converts a row to a member. */
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
