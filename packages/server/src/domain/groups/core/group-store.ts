import type { Int64 } from '@hermod/protocol'
import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { GroupsTable } from '../../../db/schema.js'
import type { Invalidates } from '../../../lib/invalidated-cache.js'
import { type Group, type GroupKey, type GroupList, groupStatus, groupType } from './group-model.js'

export type GroupChanges = Omit<Updateable<GroupsTable>, 'app_id' | 'group_id' | 'member_count'>

const versionColumns = {
  members: 'members_changed_at',
  bans: 'bans_changed_at',
  blocks: 'blocks_changed_at',
} as const satisfies Record<GroupList, keyof GroupsTable>

/** Written out, because the indexes that hold normal groups only do not serve a parameter. */
const isNormal = sql<boolean>`status = ${sql.lit(groupStatus.normal)}`

/** The groups themselves. */
export class GroupStore {
  readonly #database: Database
  readonly #cache: Invalidates<GroupKey>
  readonly #find

  constructor(database: Database, cache: Invalidates<GroupKey>) {
    this.#database = database
    this.#cache = cache
    this.#find = database.prepared<GroupKey, Selectable<GroupsTable>>((db, param) =>
      db
        .selectFrom('groups')
        .selectAll()
        .where('app_id', '=', param('appId'))
        .where('group_id', '=', param('groupId')),
    )
  }

  /** Also finds dissolved groups. */
  async find(db: Queryable, group: GroupKey): Promise<Group | null> {
    const row = await this.#find.first(db, group)
    return row ? toGroup(row) : null
  }

  /** Keeps every other change of the group waiting until the transaction ends. */
  async lock(tx: Tx, { appId, groupId }: GroupKey): Promise<Group | null> {
    const found = tx
      .selectFrom('groups')
      .selectAll()
      .where('app_id', '=', appId)
      .where('group_id', '=', groupId)
    const row = await (this.#database.dialect.rowLocks
      ? found.forUpdate()
      : found
    ).executeTakeFirst()
    return row ? toGroup(row) : null
  }

  /** Also finds dissolved groups; those that never existed are left out. */
  async findMany(
    db: Queryable,
    appId: string,
    groupIds: readonly Int64[],
  ): Promise<Map<Int64, Group>> {
    if (groupIds.length === 0) return new Map()
    const rows = await db
      .selectFrom('groups')
      .selectAll()
      .where('app_id', '=', appId)
      .where('group_id', 'in', groupIds)
      .execute()
    return new Map(rows.map((row) => [row.group_id, toGroup(row)]))
  }

  /** Newest first; dissolved ones are left out. */
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

  /** How many groups the application, or a user of it, has; dissolved ones are left out. */
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

  async insert(tx: Tx, group: Insertable<GroupsTable>): Promise<void> {
    await tx.insertInto('groups').values(group).execute()
  }

  async update(tx: Tx, group: GroupKey, changes: GroupChanges): Promise<void> {
    this.#cache.forget(tx, group)
    await tx.updateTable('groups').set(changes).where(isGroup(group)).execute()
  }

  /**
   * Says that lists have changed; every change has an instant of its own, whatever the clock says.
   * @param added members whose rows the same transaction has inserted, or deleted when it is negative
   */
  async touch(
    tx: Tx,
    group: GroupKey,
    lists: readonly GroupList[],
    now: number,
    added = 0,
  ): Promise<void> {
    this.#cache.forget(tx, group)
    const changed = lists.map((list) => [
      versionColumns[list],
      instantAfter(versionColumns[list], now),
    ])
    const counted = added === 0 ? {} : { member_count: sql<number>`member_count + ${added}` }
    await tx
      .updateTable('groups')
      .set({ ...Object.fromEntries(changed), ...counted })
      .where(isGroup(group))
      .execute()
  }
}

/** Now, or just after the last change, so that every change has an instant of its own, whatever the clock says. */
export function instantAfter(
  column: 'updated_at' | (typeof versionColumns)[GroupList],
  now: number,
) {
  return sql<number>`case when ${sql.ref(column)} < ${now} then ${now} else ${sql.ref(column)} + 1 end`
}

export function isGroup({ appId, groupId }: { readonly appId: string; readonly groupId: Int64 }) {
  return sql<boolean>`app_id = ${appId} and group_id = ${groupId}`
}

export function toGroup(row: Selectable<GroupsTable>): Group {
  return {
    appId: row.app_id,
    groupId: row.group_id,
    type: row.type,
    status: row.status,
    name: row.name,
    avatar: row.avatar,
    description: row.description,
    ext: row.ext,
    ownerId: row.owner_id,
    capacity: row.capacity,
    memberCount: row.member_count,
    applyApproval: row.apply_approval,
    flags: {
      hide_member_info: row.hide_member_info === 1,
      history_visible: row.history_visible === 1,
      member_invite: row.member_invite === 1,
      member_modify: row.member_modify === 1,
      read_ack: row.read_ack === 1,
    },
    banExpiresAt: row.ban_expires_at,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    versions: {
      members: row.members_changed_at,
      bans: row.bans_changed_at,
      blocks: row.blocks_changed_at,
    },
  }
}
