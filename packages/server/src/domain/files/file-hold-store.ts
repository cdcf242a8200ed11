import type { DatabaseNow } from '../../db/database-now.js'
import type { Queryable, StatementTx, Tx } from '../../db/database.js'
import { sql } from '../../db/kysely.js'

/** Leases during which no blob is removed. Times are those of the database. */
export class FileHoldStore {
  constructor(private readonly now: DatabaseNow) {}

  /** Adds a hold, and removes those that are over. */
  async insert(tx: Tx, holdId: string, leaseMs: number): Promise<void> {
    await tx.deleteFrom('file_holds').where('expires_at', '<=', this.now()).execute()
    await tx
      .insertInto('file_holds')
      .values({ hold_id: holdId, expires_at: sql<number>`${this.now()} + ${leaseMs}` })
      .execute()
  }

  /** @returns false when the hold is over */
  async renew(tx: StatementTx, holdId: string, leaseMs: number): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('file_holds')
      .set({ expires_at: sql<number>`${this.now()} + ${leaseMs}` })
      .where('hold_id', '=', holdId)
      .where('expires_at', '>', this.now())
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  async delete(tx: StatementTx, holdId: string): Promise<void> {
    await tx.deleteFrom('file_holds').where('hold_id', '=', holdId).execute()
  }

  async hasAny(db: Queryable): Promise<boolean> {
    const row = await db
      .selectFrom('file_holds')
      .select('hold_id')
      .where('expires_at', '>', this.now())
      .limit(1)
      .executeTakeFirst()
    return row !== undefined
  }
}
