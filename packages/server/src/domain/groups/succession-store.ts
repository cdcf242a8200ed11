import type { Int64 } from '@hermod/protocol'
import { sql } from 'kysely'
import type { Database, Tx } from '../../db/database.js'
import type { UserKey } from '../accounts/user-model.js'
import { admissionStatus, type Group, groupStatus, memberRole } from './group-model.js'
import { instantAfter, toGroup } from './group-store.js'

/** All groups of one user at once, however many they are. */
export class SuccessionStore {
  constructor(private readonly database: Database) {}

  /**
   * The groups that have the user as a member or on their block list, by ID; also dissolved ones. Keeps every other change of them
   * waiting until the transaction ends.
   */
  async lockGroups(tx: Tx, { appId, userId }: UserKey): Promise<Group[]> {
    const groupsIn = (table: 'group_members' | 'group_blocks') =>
      tx.selectFrom(table).select('group_id').where('app_id', '=', appId).where('user_id', '=', userId)
    const found = tx
      .selectFrom('groups')
      .selectAll()
      .where('app_id', '=', appId)
      .where('group_id', 'in', groupsIn('group_members').union(groupsIn('group_blocks')))
      .orderBy('group_id')
    const rows = await (this.database.dialect.rowLocks ? found.forUpdate() : found).execute()
    return rows.map(toGroup)
  }

  async listJoined(tx: Tx, { appId, userId }: UserKey): Promise<Set<Int64>> {
    const rows = await tx.selectFrom('group_members').select('group_id').where('app_id', '=', appId).where('user_id', '=', userId).execute()
    return new Set(rows.map((row) => row.group_id))
  }

  /** Counts the user out of the groups, before the rows of the user are deleted. */
  async countOut(tx: Tx, { appId, userId }: UserKey, now: number): Promise<void> {
    const rowsOfUser = sql`app_id = ${appId} and user_id = ${userId}`
    await sql`update groups set member_count = member_count - 1, members_changed_at = ${instantAfter('members_changed_at', now)}
      where app_id = ${appId} and group_id in (select group_id from group_members where ${rowsOfUser})`.execute(tx)
    await sql`update groups set bans_changed_at = ${instantAfter('bans_changed_at', now)}
      where app_id = ${appId} and group_id in (select group_id from group_members where ${rowsOfUser} and ban_expires_at <> 0)`.execute(tx)
    await sql`update groups set blocks_changed_at = ${instantAfter('blocks_changed_at', now)}
      where app_id = ${appId} and group_id in (select group_id from group_blocks where ${rowsOfUser})`.execute(tx)
  }

  /**
   * Passes the groups that the user owns to the longest-serving admin, else member; those without another member stay the user's.
   * @returns the new owners by group
   */
  async passOn(tx: Tx, { appId, userId }: UserKey, now: number): Promise<Map<Int64, Int64>> {
    const first = (who: string) => sql`(select m.user_id from group_members m
      where m.app_id = groups.app_id and m.group_id = groups.group_id and m.user_id <> ${userId} and ${sql.raw(who)}
      order by m.joined_at, m.user_id limit 1)`
    // The condition of the index of those who have a role, so that nobody else is looked at when there is an admin.
    const heir = sql`coalesce(${first(`m.role <> 0 and m.role = ${memberRole.admin}`)}, ${first('1 = 1')})`
    const { rows } = await sql<{ group_id: Int64; owner_id: Int64 }>`update groups
      set owner_id = ${heir}, updated_at = ${instantAfter('updated_at', now)}
      where app_id = ${appId} and owner_id = ${userId} and status = 0
        and exists (select 1 from group_members o where o.app_id = groups.app_id and o.group_id = groups.group_id and o.user_id <> ${userId})
      returning group_id, owner_id`.execute(tx)
    const heirs = new Map(rows.map((row) => [row.group_id, row.owner_id]))
    for (const groupIds of chunks([...heirs.keys()])) await this.#appoint(tx, appId, groupIds, now)
    return heirs
  }

  /** Dissolves the groups that the user still owns. @returns their IDs */
  async dissolve(tx: Tx, { appId, userId }: UserKey, now: number): Promise<Set<Int64>> {
    const { pending, rejected } = admissionStatus
    const owned = sql`select group_id from groups where app_id = ${appId} and owner_id = ${userId} and status = 0`
    for (const table of ['group_applications', 'group_invitations']) {
      await sql`update ${sql.table(table)} set status = ${rejected}, updated_at = ${now}
        where app_id = ${appId} and group_id in (${owned}) and status = ${pending}`.execute(tx)
    }
    const { rows } = await sql<{ group_id: Int64 }>`update groups
      set status = ${groupStatus.dissolved}, updated_at = ${instantAfter('updated_at', now)}
      where app_id = ${appId} and owner_id = ${userId} and status = 0 returning group_id`.execute(tx)
    return new Set(rows.map((row) => row.group_id))
  }

  /** Makes the owners that the groups name their owners among the members; nobody bans an owner. */
  async #appoint(tx: Tx, appId: string, groupIds: readonly Int64[], now: number): Promise<void> {
    const isOwner = sql`m.app_id = g.app_id and m.group_id = g.group_id and m.user_id = g.owner_id`
    const among = sql`g.app_id = ${appId} and g.group_id in (${sql.join(groupIds)})`
    await sql`update groups as g set bans_changed_at = ${instantAfter('bans_changed_at', now)}
      where ${among} and exists (select 1 from group_members m where ${isOwner} and m.ban_expires_at <> 0)`.execute(tx)
    await sql`update group_members as m set role = ${memberRole.owner}, ban_expires_at = 0
      from groups g where ${among} and ${isOwner}`.execute(tx)
  }
}

const groupsPerStatement = 500

function chunks<T>(rows: readonly T[]): T[][] {
  const parts: T[][] = []
  for (let start = 0; start < rows.length; start += groupsPerStatement) parts.push(rows.slice(start, start + groupsPerStatement))
  return parts
}
