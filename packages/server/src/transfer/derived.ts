import type { Queryable } from '../db/database.js'
import { sql } from '../db/kysely.js'
import { chunksOf } from '../lib/chunks.js'
import { appsPerStatement } from './portable.js'

/** Takes the place of the applications in a statement. */
const apps = '$apps'
const counted = (table: string) =>
  `(select count(*) from ${table} r where r.app_id = groups.app_id and r.group_id = groups.group_id`
const head = (table: string) =>
  `coalesce((select h.position from outbox_heads h where h.app_id = ${table}.app_id), 0)`

/** The statements, in their order; both engines run the same text. */
const statements: readonly string[] = [
  `update user_counts set users = (select count(*) from users u
    where u.app_id = user_counts.app_id and u.deleted_at is null) where app_id in (${apps})`,
  `update groups set member_count = ${counted('group_members')}),
    ban_count = ${counted('group_members')} and r.ban_expires_at <> 0),
    block_count = ${counted('group_blocks')}),
    join_request_count = ${counted('group_join_requests')}) where app_id in (${apps})`,
  `delete from group_invitation_counts where app_id in (${apps})`,
  `insert into group_invitation_counts (app_id, user_id, invitations)
    select app_id, invitee_id, count(*) from group_invitations where app_id in (${apps})
    group by app_id, invitee_id`,
  `delete from file_usage where app_id in (${apps})`,
  `insert into file_usage (app_id, files, bytes)
    select app_id, count(*), sum(size) from files where app_id in (${apps}) group by app_id`,
  // The events before it are delivered or dropped, and not in the export.
  `update webhook_endpoints set position = ${head('webhook_endpoints')} where app_id in (${apps})`,
  `update event_consumers set position = ${head('event_consumers')}, place = 0
    where app_id in (${apps})`,
]

/**
 * Makes the columns and rows again that an export leaves out, because they follow from others;
 * `hermod check` proves them. A repeated run gives the same result.
 * @param of.apps the applications; null = all
 * @param of.idsReservedUntil the tick from which IDs may be issued
 */
export async function makeDerived(
  db: Queryable,
  of: { readonly apps: readonly string[] | null; readonly idsReservedUntil: number },
): Promise<void> {
  const { idsReservedUntil } = of
  const chosen = of.apps
    ? chunksOf(of.apps, appsPerStatement).map((some) => sql.join(some))
    : [sql`select app_id from apps`]
  await db.transaction().execute(async (tx) => {
    for (const some of chosen)
      for (const statement of statements) {
        const parts = statement.split(apps).map((part) => sql.raw(part))
        await sql.join(parts, some).execute(tx)
      }
    await tx
      .updateTable('id_slots')
      .set({ reserved_until: idsReservedUntil })
      .where('reserved_until', '<', idsReservedUntil)
      .execute()
  })
}
