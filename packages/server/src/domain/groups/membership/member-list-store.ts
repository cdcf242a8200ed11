import { type Int64, memberRole } from '@hermod/protocol'
import type { Queryable } from '../../../db/database.js'
import { type RawBuilder, sql } from '../../../db/kysely.js'
import { type GroupKey, type Member, permanent } from '../core/group-model.js'
import { isGroup } from '../core/group-store.js'
import { memberColumns, toMember } from './member-store.js'

/** Start and maximum length of a page of a list by user ID. */
export interface MemberListRange {
  readonly afterId: Int64
  readonly limit: number
}

/**
 * Pages of the members of groups by user ID. The primary key makes a deep page as cheap as the
 * first.
 */
export class MemberListStore {
  list(db: Queryable, group: GroupKey, { afterId, limit }: MemberListRange): Promise<Member[]> {
    return this.#select(db, group, sql`user_id > ${afterId}`, limit)
  }

  /** Lists the admins without the owner. */
  listAdmins(db: Queryable, group: GroupKey): Promise<Member[]> {
    return this.#select(db, group, sql`role <> 0 and role = ${memberRole.admin}`)
  }

  /** Lists the owner and the admins. */
  async listManagers(db: Queryable, group: GroupKey): Promise<Int64[]> {
    const managers = await this.#select(db, group, sql`role <> 0`)
    return managers.map(({ userId }) => userId)
  }

  /** Lists the members with a ban that has not ended. */
  listBanned(
    db: Queryable,
    group: GroupKey,
    { afterId, limit }: MemberListRange,
    now: number,
  ): Promise<Member[]> {
    return this.#select(db, group, sql`${isBannedAt(now)} and user_id > ${afterId}`, limit)
  }

  /**
   * Number of entries in {@link listBanned}: the count of the group's row, minus the few ended bans
   * that are not cleared yet. Uses one statement, so that no change separates the two.
   */
  async countBanned(db: Queryable, group: GroupKey, now: number): Promise<number> {
    const { rows } = await sql<{ count: number | bigint }>`
      select ban_count - (select count(*) from group_members m where m.app_id = g.app_id and m.group_id = g.group_id
        and m.ban_expires_at > 0 and m.ban_expires_at <= ${now}) as count
      from groups g where ${isGroup(group)}`.execute(db)
    return Number(rows[0]?.count ?? 0)
  }

  /** Lists at most `limit` groups with ended bans of members, the earliest ended bans first. */
  async listWithEndedBans(db: Queryable, now: number, limit: number): Promise<GroupKey[]> {
    const ended = db
      .selectFrom('group_members')
      .select(['app_id as appId', 'group_id as groupId', 'ban_expires_at'])
      .where(isBanEndedAt(now))
      .orderBy('ban_expires_at')
      .limit(limit)
    return db.selectFrom(ended.as('ended')).select(['appId', 'groupId']).distinct().execute()
  }

  /** Lists members with ended bans, the earliest first. */
  async listBanEnded(db: Queryable, group: GroupKey, now: number, limit: number): Promise<Int64[]> {
    const rows = await db
      .selectFrom('group_members')
      .select('user_id')
      .where(isGroup(group))
      .where(isBanEndedAt(now))
      .orderBy('ban_expires_at')
      .limit(limit)
      .execute()
    return rows.map((row) => row.user_id)
  }

  async #select(
    db: Queryable,
    group: GroupKey,
    condition: RawBuilder<unknown>,
    limit?: number,
  ): Promise<Member[]> {
    const rows = await db
      .selectFrom('group_members')
      .select(memberColumns)
      .where(isGroup(group))
      .where(sql<boolean>`${condition}`)
      .orderBy('user_id')
      .$if(limit !== undefined, (query) => query.limit(limit as number))
      .execute()
    return rows.map(toMember)
  }
}

/** Contains the condition of the partial indexes, as {@link isBannedAt}. */
function isBanEndedAt(now: number) {
  return sql<boolean>`ban_expires_at > 0 and ban_expires_at <= ${now}`
}

/**
 * Repeats the condition of the partial index verbatim, so that the index is used; also in {@link
 * MemberListStore.listAdmins}.
 */
function isBannedAt(now: number) {
  return sql<boolean>`ban_expires_at <> 0 and (ban_expires_at = ${permanent} or ban_expires_at > ${now})`
}
