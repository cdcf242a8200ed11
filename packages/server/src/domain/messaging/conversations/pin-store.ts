import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { BulkDelete, BulkSelect } from '../../../db/dialect/dialect.js'
import { compare } from '../../../lib/compare.js'
import type { UserKey } from '../../users/user-model.js'

/** A conversation that a user has pinned. */
export interface Pin {
  readonly conversationId: Int64
  /** Strictly grows with every pin of a user. */
  readonly pinnedAt: number
}

const pinKeys = { app_id: 'text', user_id: 'bigint', conversation_id: 'bigint' } as const

const findPins: BulkSelect = {
  table: 'pinned_conversations',
  keys: pinKeys,
  columns: 't.user_id',
}

const deletePins: BulkDelete = {
  deleteFrom: 'pinned_conversations',
  keys: pinKeys,
}

/** Pinned conversations. */
export class PinStore {
  constructor(private readonly database: Database) {}

  /** Newest first. */
  async list(db: Queryable, { appId, userId }: UserKey): Promise<Pin[]> {
    const rows = await db
      .selectFrom('pinned_conversations')
      .select(['conversation_id', 'pinned_at'])
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .orderBy('pinned_at', 'desc')
      .execute()
    return rows.map((row) => ({ conversationId: row.conversation_id, pinnedAt: row.pinned_at }))
  }

  async insert(
    tx: Tx,
    { appId, userId }: UserKey,
    { conversationId, pinnedAt }: Pin,
  ): Promise<void> {
    const row = {
      app_id: appId,
      user_id: userId,
      conversation_id: conversationId,
      pinned_at: pinnedAt,
    }
    await tx.insertInto('pinned_conversations').values(row).execute()
  }

  /** @returns false when it is not pinned */
  async delete(tx: Tx, { appId, userId }: UserKey, conversationId: Int64): Promise<boolean> {
    const { numDeletedRows } = await tx
      .deleteFrom('pinned_conversations')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('conversation_id', '=', conversationId)
      .executeTakeFirst()
    return numDeletedRows > 0n
  }

  /**
   * Deletes the pins of former members, because only members may pin the conversation of a group.
   * @returns the users who had pinned it
   */
  async deleteOfGroup(
    tx: Tx,
    { appId, groupId }: { readonly appId: string; readonly groupId: Int64 },
    userIds: readonly Int64[],
  ): Promise<Int64[]> {
    const keys = [...userIds].sort(compare).map((userId) => [appId, userId, groupId])
    const [pinned] = await Promise.all([
      this.database.bulk<{ user_id: Int64 }>(tx, findPins, keys),
      this.database.bulk(tx, deletePins, keys),
    ])
    return pinned.map((row) => row.user_id)
  }

  async eraseUser(tx: Tx, { appId, userId }: UserKey): Promise<void> {
    await tx
      .deleteFrom('pinned_conversations')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .execute()
  }
}
