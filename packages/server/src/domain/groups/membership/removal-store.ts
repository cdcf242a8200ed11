import type { Int64 } from '@hermod/protocol'
import type { Database, Tx } from '../../../db/database.js'
import type { BulkSelect, BulkUpdate } from '../../../db/dialect/dialect.js'
import { type Selectable, sql } from '../../../db/kysely.js'
import type { Schema } from '../../../db/schema.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { UserKey } from '../../users/user-model.js'
import { type GroupKey, keysIn, type Member } from '../core/group-model.js'

/** Data about a former member. */
export interface Removal {
  readonly kicks: number
  /** Milliseconds; 0 = no ban, -1 = permanent. It may have passed. */
  readonly banExpiresAt: number
}

const rowsPerStatement = 500

const removalKey = { app_id: 'text', group_id: 'bigint', user_id: 'bigint' } as const
const findRemovals: BulkSelect = {
  table: 'group_removals',
  keys: removalKey,
  columns: 'user_id, kicks, ban_expires_at',
}
const setRemovedBans: BulkUpdate = {
  table: 'group_removals',
  set: { ban_expires_at: 'bigint' },
  keys: removalKey,
}

/** Data that groups keep about former members. */
export class RemovalStore {
  constructor(private readonly database: Database) {}

  async findMany(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<Map<Int64, Removal>> {
    const rows = await this.database.bulk<Selectable<Schema['group_removals']>>(
      tx,
      findRemovals,
      keysIn(group, userIds),
    )
    return new Map(
      rows.map((row) => [row.user_id, { kicks: row.kicks, banExpiresAt: row.ban_expires_at }]),
    )
  }

  /** Stores the kicks and bans of members who leave; a kick adds one. */
  async remember(
    tx: Tx,
    { appId, groupId }: GroupKey,
    members: readonly Member[],
    kicks: 0 | 1,
  ): Promise<void> {
    const rows = members
      .filter(({ banExpiresAt }) => kicks > 0 || banExpiresAt !== 0)
      .map(({ userId, banExpiresAt }) => ({
        app_id: appId,
        group_id: groupId,
        user_id: userId,
        kicks,
        ban_expires_at: banExpiresAt,
      }))
    for (const chunk of chunksOf(rows, rowsPerStatement)) {
      await tx
        .insertInto('group_removals')
        .values(chunk)
        .onConflict((conflict) =>
          conflict.columns(['app_id', 'group_id', 'user_id']).doUpdateSet({
            kicks: sql<number>`group_removals.kicks + excluded.kicks`,
            ban_expires_at: sql<number>`excluded.ban_expires_at`,
          }),
        )
        .execute()
    }
  }

  /** Call after the bans have been restored to members. */
  async forgetBans(tx: Tx, group: GroupKey, userIds: readonly Int64[]): Promise<void> {
    const rows = keysIn(group, userIds).map((key) => [0, ...key])
    await this.database.bulk(tx, setRemovedBans, rows)
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('group_removals')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}
