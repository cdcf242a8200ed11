/** All that is stored of a group, so that tests see what a call has changed. */
import type { Sql } from '../database/sql.js'

const tables = [
  'groups',
  'group_members',
  'group_mute_gaps',
  'group_removals',
  'group_blocks',
  'group_join_requests',
  'group_invitations',
  'group_announcements',
  'group_files',
]

/** The rows of the group by table, as texts in a fixed order, and how many events it has. */
export async function groupSnapshot(sql: Sql, groupId: number): Promise<Record<string, unknown>> {
  const snapshot: Record<string, unknown> = {}
  for (const table of tables) {
    const rows = await sql.run(`select * from ${table} where group_id = ${groupId}`)
    snapshot[table] = rows.map((row) => JSON.stringify(row)).toSorted()
  }
  const [told] = await sql.run(
    `select count(*) as events from outbox where kind like 'group.%' and payload like '%"group_id":${groupId}%'`,
  )
  return { ...snapshot, events: Number(told?.events) }
}
