import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { sql } from '../../../db/kysely.js'
import type { GroupKey, MemberKey } from '../../groups/core/group-model.js'

/** A message with a request for read receipts. */
export interface ReceiptRequest {
  readonly seq: number
  readonly messageId: number
  readonly senderId: Int64
}

interface Stretch extends MemberKey {
  /** Exclusive. */
  readonly from: number
  /** Inclusive. */
  readonly to: number
}

type Asked = Stretch & { readonly asked: string }

const maxReceiptRequests = 1_000

/** Requests of read receipts for group messages. */
export class ReceiptRequestStore {
  readonly #list

  constructor(database: Database) {
    this.#list = database.prepared<Asked, ReceiptRequest>((db, param) => {
      const latest = db
        .selectFrom('receipt_requests')
        .select(['seq', 'msg_id', 'sender_id', 'member_ids'])
        .where('app_id', '=', param('appId'))
        .where('group_id', '=', param('groupId'))
        .where('seq', '>', param('from'))
        .where('seq', '<=', param('to'))
        .orderBy('seq', 'desc')
        .limit(sql.lit(maxReceiptRequests))
      return db
        .selectFrom(latest.as('r'))
        .select(['r.seq', 'r.msg_id as messageId', 'r.sender_id as senderId'])
        .where('r.sender_id', '<>', param('userId'))
        .where('r.member_ids', 'like', param('asked'))
        .orderBy('r.seq')
    })
  }

  /**
   * Lists messages above one position and up to another that request a receipt of the member, in
   * their order; at most the latest 1,000.
   */
  async listBetween(
    db: Queryable,
    { appId, groupId, userId, from, to }: Stretch,
  ): Promise<ReceiptRequest[]> {
    return this.#list.all(db, { appId, groupId, userId, from, to, asked: `%,${userId},%` })
  }

  /** Finds the users whose receipts a message requests; none when it requests no receipts. */
  async findRequested(
    db: Queryable,
    { appId, groupId }: GroupKey,
    seq: number,
  ): Promise<readonly Int64[]> {
    const row = await db
      .selectFrom('receipt_requests')
      .select('member_ids')
      .where('app_id', '=', appId)
      .where('group_id', '=', groupId)
      .where('seq', '=', seq)
      .executeTakeFirst()
    return row ? row.member_ids.split(',').map(Number).filter(isUserId) : []
  }

  /** Deletes the request of a recalled message. */
  async delete(tx: Tx, { appId, groupId }: GroupKey, seq: number): Promise<void> {
    await tx
      .deleteFrom('receipt_requests')
      .where('app_id', '=', appId)
      .where('group_id', '=', groupId)
      .where('seq', '=', seq)
      .execute()
  }

  /** Deletes the requests of removed messages, up to and including this position. */
  async deleteOldest(tx: Tx, { appId, groupId }: GroupKey, seq: number): Promise<void> {
    await tx
      .deleteFrom('receipt_requests')
      .where('app_id', '=', appId)
      .where('group_id', '=', groupId)
      .where('seq', '<=', seq)
      .execute()
  }
}

/** The config of a message may name any number. */
function isUserId(id: number): boolean {
  return id > 0 && Number.isSafeInteger(id)
}
