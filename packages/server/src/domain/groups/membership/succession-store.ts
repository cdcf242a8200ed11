import { admissionStatus, groupStatus, type Int64, memberRole } from '@hermod/protocol'
import { sql } from 'kysely'
import type { Tx } from '../../../db/database.js'
import { lockForUpdate } from '../../../db/locking.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { UserKey } from '../../users/user-model.js'
import type { Group } from '../core/group-model.js'
import { instantAfter, toGroup } from '../core/group-store.js'

const groupsPerStatement = 500

/** All groups of one user at once, however many they are. */
export class SuccessionStore {
  /**
   * The groups that have the user as a member or on their block list, by ID; also dissolved ones. Keeps every other change of them
   * waiting until the transaction ends.
   */
  async lockGroups(tx: Tx, { appId, userId }: UserKey): Promise<Group[]> {
    const groupsIn = (table: 'group_members' | 'group_blocks') =>
      tx
        .selectFrom(table)
        .select('group_id')
        .where('app_id', '=', appId)
        .where('user_id', '=', userId)
    const found = tx
      .selectFrom('groups')
      .selectAll()
      .where('app_id', '=', appId)
      .where('group_id', 'in', groupsIn('group_members').union(groupsIn('group_blocks')))
      .orderBy('group_id')
    const rows = await lockForUpdate(tx, found).execute()
    return rows.map(toGroup)
  }

  async listJoined(tx: Tx, { appId, userId }: UserKey): Promise<Set<Int64>> {
    const rows = await tx
      .selectFrom('group_members')
      .select('group_id')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
    return new Set(rows.map((row) => row.group_id))
  }

  /** Counts the user out of the groups, before the rows of the user are deleted. */
  async countOut(tx: Tx, { appId, userId }: UserKey, now: number): Promise<void> {
    const rowsOfUser = sql`app_id = ${appId} and user_id = ${userId}`
    await sql`update groups set member_count = member_count - 1, members_changed_at = ${instantAfter('members_changed_at', now)}
      where app_id = ${appId} and group_id in (select group_id from group_members where ${rowsOfUser})`.execute(
      tx,
    )
    await sql`update groups set bans_changed_at = ${instantAfter('bans_changed_at', now)}
      where app_id = ${appId} and group_id in (select group_id from group_members where ${rowsOfUser} and ban_expires_at <> 0)`.execute(
      tx,
    )
    await sql`update groups set blocks_changed_at = ${instantAfter('blocks_changed_at', now)}
      where app_id = ${appId} and group_id in (select group_id from group_blocks where ${rowsOfUser})`.execute(
      tx,
    )
  }

  /**
   * Passes groups that the user owns to the longest-serving admin, else member.
   * @returns the new owners by group; groups without another member are left out
   */
  async passOn(
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
        where app_id = ${appId} and group_id in (${sql.join(chunk)}) and exists (select 1 ${others})
        returning group_id, owner_id`.execute(tx)
      for (const row of rows) heirs.set(row.group_id, row.owner_id)
      if (rows.length > 0)
        await this.#appoint(
          tx,
          appId,
          rows.map((row) => row.group_id),
          now,
        )
    }
    return heirs
  }

  /** Dissolves groups, with what is open in them. */
  async dissolve(tx: Tx, appId: string, groupIds: readonly Int64[], now: number): Promise<void> {
    const { pending, rejected } = admissionStatus
    for (const chunk of chunksOf(groupIds, groupsPerStatement)) {
      const among = sql`app_id = ${appId} and group_id in (${sql.join(chunk)})`
      for (const table of ['group_join_requests', 'group_invitations'])
        await sql`update ${sql.table(table)} set status = ${rejected}, updated_at = ${now} where ${among} and status = ${pending}`.execute(
          tx,
        )
      await sql`update groups set status = ${groupStatus.dissolved}, updated_at = ${instantAfter('updated_at', now)}
        where ${among}`.execute(tx)
    }
  }

  /** Makes the owners that the groups name their owners among the members; nobody bans an owner. */
  async #appoint(tx: Tx, appId: string, groupIds: readonly Int64[], now: number): Promise<void> {
    const isOwner = sql`m.app_id = g.app_id and m.group_id = g.group_id and m.user_id = g.owner_id`
    const among = sql`g.app_id = ${appId} and g.group_id in (${sql.join(groupIds)})`
    await sql`update groups as g set bans_changed_at = ${instantAfter('bans_changed_at', now)}
      where ${among} and exists (select 1 from group_members m where ${isOwner} and m.ban_expires_at <> 0)`.execute(
      tx,
    )
    await sql`update group_members as m set role = ${memberRole.owner}, ban_expires_at = 0
      from groups g where ${among} and ${isOwner}`.execute(tx)
  }
}
