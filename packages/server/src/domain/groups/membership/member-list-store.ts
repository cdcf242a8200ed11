import { type Int64, memberRole } from '@hermod/protocol'
import { type RawBuilder, sql } from 'kysely'
import type { Queryable } from '../../../db/database.js'
import { type GroupKey, type Member, permanent } from '../core/group-model.js'
import { isGroup } from '../core/group-store.js'
import { memberColumns, toMember } from './member-store.js'

/** Where a page of a list by user ID starts, and how long it is at most. */
export interface MemberListRange {
  readonly afterId: Int64
  readonly limit: number
}

/** The members of groups by user ID, a page at a time: the primary key makes a deep page cost what the first one does. */
export class MemberListStore {
  list(db: Queryable, group: GroupKey, { afterId, limit }: MemberListRange): Promise<Member[]> {
    return this.#select(db, group, sql`user_id > ${afterId}`, limit)
  }

  /** Without the owner. */
  listAdmins(db: Queryable, group: GroupKey): Promise<Member[]> {
    return this.#select(db, group, sql`role <> 0 and role = ${memberRole.admin}`)
  }

  /** Members with a ban that has not ended. */
  listBanned(
    db: Queryable,
    group: GroupKey,
    { afterId, limit }: MemberListRange,
    now: number,
  ): Promise<Member[]> {
    return this.#select(db, group, sql`${isBannedAt(now)} and user_id > ${afterId}`, limit)
  }

  /** How many there are in {@link listBanned}. */
  async countBanned(db: Queryable, group: GroupKey, now: number): Promise<number> {
    const found = db
      .selectFrom('group_members')
      .select(db.fn.countAll().as('count'))
      .where(isGroup(group))
      .where(isBannedAt(now))
    return Number((await found.executeTakeFirstOrThrow()).count)
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

/** With the condition of the partial index, word by word, so that the index is used; as in {@link MemberListStore.listAdmins}. */
function isBannedAt(now: number) {
  return sql<boolean>`ban_expires_at <> 0 and (ban_expires_at = ${permanent} or ban_expires_at > ${now})`
}
