import type { Int64 } from '@hermod/protocol'
import { sql } from 'kysely'
import type { Tx } from '../../../db/database.js'
import type { Schema } from '../../../db/schema.js'
import { emptyUser } from '../user-store.js'

interface PersonalTable {
  readonly table: keyof Schema
  /** Columns that name whom a row is about; a row goes when any of them names the user. */
  readonly columns: readonly string[]
}

/**
 * Every table whose rows go with a user (decision D5). What stays is what belongs to the others: conversations, messages, their
 * recalls and receipts, groups with their announcements and files; what ends by itself: revoked tokens, transaction IDs and events; and the user's row, which keeps the ID from being unknown.
 * Devices come before what is added to them by those who lock them.
 */
export const personalTables: readonly PersonalTable[] = [
  { table: 'contact_requests', columns: ['user_id', 'applicant_id'] },
  { table: 'devices', columns: ['user_id'] },
  { table: 'group_join_requests', columns: ['applicant_id'] },
  { table: 'group_blocks', columns: ['user_id'] },
  { table: 'group_invitations', columns: ['invitee_id', 'inviter_id'] },
  { table: 'group_members', columns: ['user_id'] },
  { table: 'group_removals', columns: ['user_id'] },
  { table: 'pinned_conversations', columns: ['user_id'] },
  { table: 'push_aliases', columns: ['user_id'] },
  { table: 'push_bindings', columns: ['user_id'] },
  { table: 'push_tags', columns: ['user_id'] },
  { table: 'user_conversations', columns: ['user_id'] },
  { table: 'user_settings', columns: ['user_id'] },
]

/** Erases all that is held about a user whose row the transaction has locked. */
export async function eraseUser(
  tx: Tx,
  appId: string,
  userId: Int64,
  deletedAt: number,
): Promise<void> {
  for (const { table, columns } of personalTables) {
    // One statement for each column: each has an index of its own.
    for (const column of columns) {
      await sql`delete from ${sql.table(table)} where app_id = ${appId} and ${sql.ref(column)} = ${userId}`.execute(
        tx,
      )
    }
  }
  await tx
    .updateTable('users')
    .set({
      ...emptyUser,
      username: '',
      username_key: null,
      password_hash: '',
      created_at: 0,
      deleted_at: deletedAt,
    })
    .where('app_id', '=', appId)
    .where('user_id', '=', userId)
    .execute()
}
