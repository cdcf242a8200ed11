import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable } from '../../../db/database.js'
import type { MemberKey } from '../../groups/core/group-model.js'
import type { UserKey } from '../../users/user-model.js'
import { joinedGroups } from '../conversations/conversation-sql.js'
import type { ReaderPositions } from '../model/reader-positions.js'
import type { FurthestReaders } from './moves/furthest-readers.js'

/** The positions of a member in the conversation of a group. */
export interface MemberPositions extends ReaderPositions, FurthestReaders {
  readonly groupId: Int64
  /** The last message that the conversation ever held. */
  readonly lastMessageId: number
  /** True when the group sends read receipts to senders who request them. */
  readonly hasReadAck: boolean
}

interface MemberPositionRow extends FurthestReaders {
  readonly group_id: Int64
  readonly seq: number
  readonly last_msg_id: number
  readonly acked_seq: number
  readonly delivered_seq: number
  readonly read_ack: number
}

const columns = [
  'p.group_id',
  'p.acked_seq',
  'p.delivered_seq',
  'c.seq',
  'c.last_msg_id',
  'c.reader_id',
  'c.low_read_seq',
  'c.high_read_seq',
  'g.read_ack',
] as const

/** Reads the positions of members in the conversations of groups. */
export class MemberPositionStore {
  readonly #find

  constructor(database: Database) {
    this.#find = database.prepared<MemberKey, MemberPositionRow>((db, param) =>
      joinedGroups(db)
        .select(columns)
        .where('p.app_id', '=', param('appId'))
        .where('p.group_id', '=', param('groupId'))
        .where('p.user_id', '=', param('userId')),
    )
  }

  /** @returns null when there is no such conversation or member */
  async find(
    db: Queryable,
    { appId, groupId, userId }: MemberKey,
  ): Promise<MemberPositions | null> {
    const row = await this.#find.first(db, { appId, groupId, userId })
    return row && toMemberPositions(row)
  }

  /** Lists positions in groups with messages that the user has not acknowledged, by group ID. */
  async listNotRead(
    db: Queryable,
    { appId, userId }: UserKey,
    page: { readonly afterGroupId: Int64; readonly limit: number },
  ): Promise<MemberPositions[]> {
    const rows = await joinedGroups(db)
      .select(columns)
      .where('p.app_id', '=', appId)
      .where('p.user_id', '=', userId)
      .where('p.group_id', '>', page.afterGroupId)
      .whereRef('c.seq', '>', 'p.acked_seq')
      .orderBy('p.group_id')
      .limit(page.limit)
      .execute()
    return rows.map(toMemberPositions)
  }
}

/** The read position is that of the last acknowledgement, because sending moves `read_seq` without receipts. */
function toMemberPositions(row: MemberPositionRow): MemberPositions {
  const { reader_id, low_read_seq, high_read_seq } = row
  return {
    groupId: row.group_id,
    at: { read_seq: row.acked_seq, delivered_seq: row.delivered_seq },
    end: row.seq,
    lastMessageId: row.last_msg_id,
    hasReadAck: row.read_ack === 1,
    reader_id,
    low_read_seq,
    high_read_seq,
  }
}
