import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../db/database.js'
import { admissionStatus, type GroupKey } from './group-model.js'

export interface NewInvitation {
  readonly inviterId: Int64
  readonly reason: string
  readonly createdAt: number
  readonly expiresAt: number
}

/** Invitations; of each user to each group the latest one. */
export class InvitationStore {
  /** Invites users, also those whose invitation has been answered or has run out. */
  async put(tx: Tx, { appId, groupId }: GroupKey, userIds: readonly Int64[], invitation: NewInvitation): Promise<void> {
    if (userIds.length === 0) return
    const { inviterId, reason, createdAt, expiresAt } = invitation
    const values = {
      inviter_id: inviterId,
      reason,
      status: admissionStatus.pending,
      created_at: createdAt,
      expires_at: expiresAt,
      updated_at: createdAt,
    }
    await tx
      .insertInto('group_invitations')
      .values(userIds.map((userId) => ({ app_id: appId, group_id: groupId, invitee_id: userId, ...values })))
      .onConflict((conflict) => conflict.columns(['app_id', 'group_id', 'invitee_id']).doUpdateSet(values))
      .execute()
  }

  /** Those of the users who want to be asked before they are in a group (group_confirm). */
  async findCautious(tx: Tx, appId: string, userIds: readonly Int64[]): Promise<Set<Int64>> {
    if (userIds.length === 0) return new Set()
    const rows = await tx
      .selectFrom('user_settings')
      .select('user_id')
      .where('app_id', '=', appId)
      .where('user_id', 'in', userIds)
      .where('group_confirm', '=', 1)
      .execute()
    return new Set(rows.map((row) => row.user_id))
  }
}
