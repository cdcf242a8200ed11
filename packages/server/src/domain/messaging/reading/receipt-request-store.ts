import type { Int64 } from '@hermod/protocol'
import type { Tx } from '../../../db/database.js'
import type { MemberKey } from '../../groups/core/group-model.js'
import type { MovedMark } from './group-mark-store.js'

/** A message whose sender wants to know who has read it. */
export interface ReceiptRequest {
  readonly messageId: number
  readonly senderId: Int64
}

const maxReceiptRequests = 1_000

/** Group messages whose senders want to know who has read them. */
export class ReceiptRequestStore {
  /**
   * Messages above one position and up to another whose senders want to know that the member has read them, in their order; of very many
   * requests the latest ones.
   */
  async listBetween(
    tx: Tx,
    { appId, groupId, userId }: MemberKey,
    { from, to }: MovedMark,
  ): Promise<ReceiptRequest[]> {
    const latest = tx
      .selectFrom('receipt_requests')
      .select(['seq', 'msg_id', 'sender_id', 'member_ids'])
      .where('app_id', '=', appId)
      .where('group_id', '=', groupId)
      .where('seq', '>', from)
      .where('seq', '<=', to)
      .orderBy('seq', 'desc')
      .limit(maxReceiptRequests)
    const rows = await tx
      .selectFrom(latest.as('r'))
      .select(['r.msg_id', 'r.sender_id'])
      .where('r.sender_id', '<>', userId)
      .where('r.member_ids', 'like', `%,${userId},%`)
      .orderBy('r.seq')
      .execute()
    return rows.map((row) => ({ messageId: row.msg_id, senderId: row.sender_id }))
  }

  /** Of a message that is recalled. */
  async delete(tx: Tx, { appId, groupId }: Omit<MemberKey, 'userId'>, seq: number): Promise<void> {
    await tx
      .deleteFrom('receipt_requests')
      .where('app_id', '=', appId)
      .where('group_id', '=', groupId)
      .where('seq', '=', seq)
      .execute()
  }
}
