import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { BulkDelete } from '../../../db/dialect/dialect.js'
import { type GroupKey, keysIn, type MemberKey } from '../../groups/core/group-model.js'
import { isGroup } from '../../groups/core/group-store.js'
import type { UserKey } from '../../users/user-model.js'

const deleteGaps: BulkDelete = {
  deleteFrom: 'group_mute_gaps',
  keys: { app_id: 'text', group_id: 'bigint', user_id: 'bigint' },
}

/**
 * Ranges that a muted member did not receive. They are not unread although earlier messages are
 * (rule F8a).
 */
export class MuteGapStore {
  constructor(private readonly database: Database) {}

  /**
   * @param gap positions after `from`, up to and including `to`; above all other gaps of the member
   */
  async insert(
    tx: Tx,
    { appId, groupId, userId }: MemberKey,
    gap: { readonly from: number; readonly to: number },
  ): Promise<void> {
    await tx
      .insertInto('group_mute_gaps')
      .values({
        app_id: appId,
        group_id: groupId,
        user_id: userId,
        to_seq: gap.to,
        from_seq: gap.from,
      })
      .execute()
  }

  /** Deletes the gaps that end at a position or before it. */
  async deleteUpTo(tx: Tx, member: MemberKey, seq: number): Promise<void> {
    await tx
      .deleteFrom('group_mute_gaps')
      .where(isGroup(member))
      .where('user_id', '=', member.userId)
      .where('to_seq', '<=', seq)
      .execute()
  }

  /** Deletes the gaps of users who are no longer members. */
  async deleteOfMembers(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<void> {
    await this.database.bulk(tx, deleteGaps, keysIn(group, userIds))
  }

  /** Deletes the gaps of all members of a group without unread messages. */
  async deleteOfGroup(tx: Tx, group: GroupKey): Promise<void> {
    await tx.deleteFrom('group_mute_gaps').where(isGroup(group)).execute()
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('group_mute_gaps')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}
