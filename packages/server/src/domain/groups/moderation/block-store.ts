import type { Int64 } from '@hermod/protocol'
import { camelCase, camelCaseText, columnsOf } from '../../../db/columns.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkSelect } from '../../../db/dialect/dialect.js'
import { groupBlocksTable } from '../../../db/schema.js'
import type { UserKey } from '../../users/user-model.js'
import { type GroupKey, keysIn } from '../core/group-model.js'
import { isGroup } from '../core/group-store.js'
import type { MemberListRange } from '../membership/member-list-store.js'

/** A user on a group's block list. */
export interface Block {
  readonly userId: Int64
  readonly createdAt: number
}

const blockKey = columnsOf(groupBlocksTable, 'app_id', 'group_id', 'user_id')
const findBlocks: BulkSelect = {
  table: 'group_blocks',
  keys: blockKey,
  columns: camelCaseText(['user_id']),
}
const deleteBlocks: BulkDelete = {
  deleteFrom: 'group_blocks',
  keys: blockKey,
}

/** The block lists of groups. */
export class BlockStore {
  constructor(private readonly database: Database) {}

  /** @param userIds not on the list */
  async insert(
    tx: Tx,
    { appId, groupId }: GroupKey,
    userIds: readonly Int64[],
    now: number,
  ): Promise<void> {
    const rows = userIds.map((userId) => ({
      app_id: appId,
      group_id: groupId,
      user_id: userId,
      created_at: now,
    }))
    await tx.insertInto('group_blocks').values(rows).execute()
  }

  async delete(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<void> {
    await this.database.bulk(tx, deleteBlocks, keysIn(group, userIds))
  }

  /** Returns those of the users who are on the block list. */
  async findMany(db: Queryable, group: GroupKey, userIds: readonly Int64[]): Promise<Set<Int64>> {
    const rows = await this.database.bulk<{ userId: Int64 }>(db, findBlocks, keysIn(group, userIds))
    return new Set(rows.map((row) => row.userId))
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('group_blocks')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }

  /** Lists by user ID. */
  async list(
    db: Queryable,
    group: GroupKey,
    { afterId, limit }: MemberListRange,
  ): Promise<Block[]> {
    return db
      .selectFrom('group_blocks')
      .select(camelCase(['user_id', 'created_at']))
      .where(isGroup(group))
      .where('user_id', '>', afterId)
      .orderBy('user_id')
      .limit(limit)
      .execute()
  }
}
