import { groupStatus, groupType, type Int64 } from '@hermod/protocol'
import { camelCase, camelCaseText, columnsOf, convert, type TableRow } from '../../../db/columns.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { type Insertable, sql, type Updateable } from '../../../db/kysely.js'
import { lockForUpdate } from '../../../db/locking.js'
import type { LastStatement } from '../../../db/procedure.js'
import { groupsTable, type Schema } from '../../../db/schema.js'
import { chunksOf, paddedForPlanCache } from '../../../lib/chunks.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'
import type { UserKey } from '../../users/user-model.js'
import type { VersionedGroup } from './group-events.js'
import type { Group, GroupKey, GroupList } from './group-model.js'

type GroupRow = TableRow<typeof groupsTable>

type GroupChanges = Omit<
  Updateable<Schema['groups']>,
  'app_id' | 'group_id' | (typeof countColumns)[GroupCount]
>

/** Rows about users that the group's row counts. */
type GroupCount = 'members' | 'bans' | 'blocks' | 'joinRequests'

const countColumns = {
  members: 'member_count',
  bans: 'ban_count',
  blocks: 'block_count',
  joinRequests: 'join_request_count',
} as const satisfies Record<GroupCount, keyof Schema['groups']>

const versionColumns = {
  members: 'members_changed_at',
  bans: 'bans_changed_at',
  blocks: 'blocks_changed_at',
} as const satisfies Record<GroupList, keyof Schema['groups']>

const groupsPerStatement = 500

/** Written as a literal, since partial indexes on normal groups do not serve a parameter. */
const isNormal = sql<boolean>`status = ${sql.lit(groupStatus.normal)}`

const columns = camelCase(groupsTable)
const groupKey = columnsOf(groupsTable, 'app_id', 'group_id')
const findGroups: BulkSelect = {
  table: 'groups',
  keys: groupKey,
  columns: camelCaseText(groupsTable, 't'),
}
const lockGroups: BulkSelect = { ...findGroups, lock: 'for update' }
const setVersions: BulkUpdate = {
  table: 'groups',
  set: columnsOf(groupsTable, 'version'),
  keys: groupKey,
}

/** Rows of groups. */
export class GroupStore {
  readonly #database: Database
  readonly #cache: Invalidates<GroupKey>
  readonly #find

  constructor(database: Database, cache: Invalidates<GroupKey>) {
    this.#database = database
    this.#cache = cache
    this.#find = database.prepared<GroupKey, GroupRow>((db, param) =>
      db
        .selectFrom('groups')
        .select(columns)
        .where('app_id', '=', param('appId'))
        .where('group_id', '=', param('groupId')),
    )
  }

  /** Finds groups, including dissolved ones. */
  async find(db: Queryable, group: GroupKey): Promise<Group | null> {
    const row = await this.#find.first(db, group)
    return row ? toGroup(row) : null
  }

  /** Locks the group: every other change of it waits until the transaction ends. */
  async lockForUpdate(tx: Tx, { appId, groupId }: GroupKey): Promise<Group | null> {
    const rows = await this.#database.bulk<GroupRow>(tx, lockGroups, [[appId, groupId]])
    return rows[0] ? toGroup(rows[0]) : null
  }

  /** Finds groups, including dissolved ones; unknown IDs are left out. */
  async findMany(
    db: Queryable,
    appId: string,
    groupIds: readonly Int64[],
  ): Promise<Map<Int64, Group>> {
    const rows = await this.#database.bulk<GroupRow>(
      db,
      findGroups,
      groupIds.map((groupId) => [appId, groupId]),
    )
    return new Map(rows.map((row) => [row.groupId, toGroup(row)]))
  }

  /** Lists newest first, without dissolved groups. */
  async listPublic(db: Queryable, appId: string, limit: number): Promise<Int64[]> {
    const rows = await db
      .selectFrom('groups')
      .select('group_id')
      .where('app_id', '=', appId)
      .where(sql<boolean>`type = ${sql.lit(groupType.public)} and ${isNormal}`)
      .orderBy('group_id', 'desc')
      .limit(limit)
      .execute()
    return rows.map((row) => row.group_id)
  }

  /** Number of groups of the app, or of one of its users, without dissolved ones. */
  async count(
    tx: Tx,
    { appId, ownerId }: { readonly appId: string; readonly ownerId?: Int64 },
  ): Promise<number> {
    const found = tx
      .selectFrom('groups')
      .select(tx.fn.countAll().as('count'))
      .where('app_id', '=', appId)
      .where(isNormal)
      .$if(ownerId !== undefined, (query) => query.where('owner_id', '=', ownerId as Int64))
    return Number((await found.executeTakeFirstOrThrow()).count)
  }

  async insert(tx: Tx, group: Insertable<Schema['groups']>): Promise<void> {
    await tx.insertInto('groups').values(group).execute()
  }

  async update(tx: Tx, group: GroupKey, changes: GroupChanges): Promise<void> {
    this.#cache.forget(tx, group)
    await tx.updateTable('groups').set(changes).where(isGroup(group)).execute()
  }

  /** Returns the statement that stores the versions of locked groups with the commit. */
  setVersions(groups: readonly VersionedGroup[]): LastStatement {
    return {
      statement: setVersions,
      rows: groups.map(({ appId, groupId, version }) => [version, appId, groupId]),
    }
  }

  /**
   * Locks the groups that count the user as a member, as blocked or with a join request, by ID,
   * including dissolved ones. Used to remove the user from all of them: every other change of the
   * groups waits until the transaction ends.
   */
  async lockForRemoval(tx: Tx, { appId, userId }: UserKey): Promise<Group[]> {
    const groupsIn = (table: 'group_members' | 'group_blocks') =>
      tx
        .selectFrom(table)
        .select(['app_id', 'group_id'])
        .where('app_id', '=', appId)
        .where('user_id', '=', userId)
    const askedGroups = tx
      .selectFrom('group_join_requests')
      .select(['app_id', 'group_id'])
      .where('app_id', '=', appId)
      .where('applicant_id', '=', userId)
    const all = groupsIn('group_members').union(groupsIn('group_blocks')).union(askedGroups)
    const found = tx
      .selectFrom('groups')
      .select(columns)
      .where(
        sql<boolean>`(app_id, group_id) in (select app_id, group_id from ${all} r order by group_id)`,
      )
      .orderBy('group_id')
    const groups = (await lockForUpdate(tx, found).execute()).map(toGroup)
    // The removal may change any of them; see removeFromCounts, transferOwnership and dissolve.
    for (const group of groups) this.#cache.forget(tx, group)
    return groups
  }

  /** Subtracts the user from the counts of the groups, before the rows of the user are deleted. */
  async removeFromCounts(tx: Tx, { appId, userId }: UserKey, now: number): Promise<void> {
    // By the whole key and in an order, so that PostgreSQL reads the rows of the user first: it would
    // compare each group with each of them in an app that its statistics do not have yet.
    const rowsOfUser = sql`app_id = ${appId} and user_id = ${userId}`
    await sql`update groups set member_count = member_count - 1, members_changed_at = ${instantAfter('members_changed_at', now)}
      where (app_id, group_id) in (select app_id, group_id from group_members where ${rowsOfUser} order by group_id)`.execute(
      tx,
    )
    await sql`update groups set ban_count = ban_count - 1, bans_changed_at = ${instantAfter('bans_changed_at', now)}
      where (app_id, group_id) in (select app_id, group_id from group_members where ${rowsOfUser} and ban_expires_at <> 0 order by group_id)`.execute(
      tx,
    )
    await sql`update groups set block_count = block_count - 1, blocks_changed_at = ${instantAfter('blocks_changed_at', now)}
      where (app_id, group_id) in (select app_id, group_id from group_blocks where ${rowsOfUser} order by group_id)`.execute(
      tx,
    )
    await sql`update groups set join_request_count = join_request_count - 1
      where (app_id, group_id) in (select app_id, group_id from group_join_requests where app_id = ${appId} and applicant_id = ${userId} order by group_id)`.execute(
      tx,
    )
  }

  /**
   * Passes groups of the user to the longest-serving admin, else member. The caller changes the
   * rows of the members.
   * @returns the new owners by group; groups without another member are left out
   */
  async transferOwnership(
    tx: Tx,
    { appId, userId }: UserKey,
    groupIds: readonly Int64[],
    now: number,
  ): Promise<Map<Int64, Int64>> {
    const heirs = new Map<Int64, Int64>()
    for (const chunk of chunksOf(groupIds, groupsPerStatement)) {
      const others = sql`from group_members m
        where m.app_id = groups.app_id and m.group_id = groups.group_id and m.user_id <> ${userId}`
      const { rows } = await sql<{ group_id: Int64; owner_id: Int64 }>`update groups
        set owner_id = (select m.user_id ${others} order by m.role desc, m.joined_at, m.user_id limit 1),
          updated_at = ${instantAfter('updated_at', now)}
        where app_id = ${appId} and group_id in (${sql.join(paddedForPlanCache(chunk))}) and exists (select 1 ${others})
        returning group_id, owner_id`.execute(tx)
      for (const row of rows) heirs.set(row.group_id, row.owner_id)
      if (rows.length > 0)
        await this.#countOutBansOfOwners(
          tx,
          appId,
          rows.map((row) => row.group_id),
          now,
        )
    }
    return heirs
  }

  async dissolve(tx: Tx, appId: string, groupIds: readonly Int64[], now: number): Promise<void> {
    for (const chunk of chunksOf(groupIds, groupsPerStatement))
      await sql`update groups set status = ${groupStatus.dissolved}, updated_at = ${instantAfter('updated_at', now)}
        where app_id = ${appId} and group_id in (${sql.join(paddedForPlanCache(chunk))})`.execute(
        tx,
      )
  }

  /** Runs before the bans of new owners end. */
  async #countOutBansOfOwners(
    tx: Tx,
    appId: string,
    groupIds: readonly Int64[],
    now: number,
  ): Promise<void> {
    await sql`update groups as g set ban_count = ban_count - 1, bans_changed_at = ${instantAfter('bans_changed_at', now)}
      where g.app_id = ${appId} and g.group_id in (${sql.join(paddedForPlanCache(groupIds))}) and exists (select 1 from group_members m
        where m.app_id = g.app_id and m.group_id = g.group_id and m.user_id = g.owner_id and m.ban_expires_at <> 0)`.execute(
      tx,
    )
  }

  /**
   * Records that lists have changed, at a time later than the last change.
   * @param added number of counted rows that the transaction has added, negative for deleted ones
   */
  async touch(
    tx: Tx,
    group: GroupKey,
    lists: readonly GroupList[],
    now: number,
    added: Partial<Readonly<Record<GroupCount, number>>> = {},
  ): Promise<void> {
    this.#cache.forget(tx, group)
    const changed = lists.map((list) => [
      versionColumns[list],
      instantAfter(versionColumns[list], now),
    ])
    const counted = Object.entries(added)
      .filter(([, rows]) => rows !== 0)
      .map(([name, rows]) => {
        const column = countColumns[name as GroupCount]
        return [column, sql<number>`${sql.ref(column)} + ${rows}`]
      })
    await tx
      .updateTable('groups')
      .set(Object.fromEntries([...changed, ...counted]))
      .where(isGroup(group))
      .execute()
  }
}

/** Returns now, or just after the last change if the clock is behind it. */
export function instantAfter(
  column: 'updated_at' | (typeof versionColumns)[GroupList],
  now: number,
) {
  return sql<number>`case when ${sql.ref(column)} < ${now} then ${now} else ${sql.ref(column)} + 1 end`
}

/** Returns the condition that a row belongs to the group. */
export function isGroup({ appId, groupId }: { readonly appId: string; readonly groupId: Int64 }) {
  return sql<boolean>`app_id = ${appId} and group_id = ${groupId}`
}

function toGroup(row: GroupRow): Group {
  return convert(row, {
    flags: {
      hide_member_info: row.hideMemberInfo === 1,
      history_visible: row.historyVisible === 1,
      member_invite: row.memberInvite === 1,
      member_modify: row.memberModify === 1,
      read_ack: row.readAck === 1,
    },
    versions: {
      members: row.membersChangedAt,
      bans: row.bansChangedAt,
      blocks: row.blocksChangedAt,
    },
  })
}
