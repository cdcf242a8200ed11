import type { Int64 } from '@hermod/protocol'
import { camelCase, snakeCase, type TableRow } from '../../db/columns.js'
import type { Queryable, Tx } from '../../db/database.js'
import { erasuresTable } from '../../db/schema.js'

/** The row of an erasure. */
export type ErasureRow = TableRow<typeof erasuresTable>

const columns = camelCase(erasuresTable)
const newest = 200

/** Erasures and their certificates. */
export class ErasureStore {
  async insert(tx: Tx, erasure: ErasureRow): Promise<void> {
    await tx.insertInto('erasures').values(snakeCase(erasuresTable, erasure)).execute()
  }

  /** Finds the unfinished erasure of a user. */
  async findUnfinished(
    db: Queryable,
    { appId, userId }: { readonly appId: string; readonly userId: Int64 },
  ): Promise<ErasureRow | null> {
    const row = await db
      .selectFrom('erasures')
      .select(columns)
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('finished_at', 'is', null)
      .executeTakeFirst()
    return row ?? null
  }

  async finish(
    tx: Tx,
    { appId, userId, begunAt }: Pick<ErasureRow, 'appId' | 'userId' | 'begunAt'>,
    { finishedAt, isScrubbed, digest }: Pick<ErasureRow, 'finishedAt' | 'isScrubbed' | 'digest'>,
  ): Promise<void> {
    await tx
      .updateTable('erasures')
      .set({ finished_at: finishedAt, is_scrubbed: isScrubbed, digest })
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('begun_at', '=', begunAt)
      .execute()
  }

  /** Lists the newest erasures first. @param userId undefined: of all users */
  async list(db: Queryable, appId: string, userId: Int64 | undefined): Promise<ErasureRow[]> {
    return db
      .selectFrom('erasures')
      .select(columns)
      .where('app_id', '=', appId)
      .$if(userId !== undefined, (query) => query.where('user_id', '=', userId ?? 0))
      .orderBy('begun_at', 'desc')
      .limit(newest)
      .execute()
  }
}
