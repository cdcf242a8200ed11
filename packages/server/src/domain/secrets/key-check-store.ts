import type { Queryable, Tx } from '../../db/database.js'

/**
 * A sealed text that is always present, so that a wrong key is found at the start even without any
 * secrets.
 */
export class KeyCheckStore {
  async find(db: Queryable): Promise<string | null> {
    const row = await db.selectFrom('key_checks').select('sealed').executeTakeFirst()
    return row?.sealed ?? null
  }

  /** Keeps an existing one. */
  async insert(tx: Tx, sealed: string): Promise<void> {
    await tx
      .insertInto('key_checks')
      .values({ check_id: 1, sealed })
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }

  async replace(tx: Tx, before: string, sealed: string): Promise<void> {
    await tx.updateTable('key_checks').set({ sealed }).where('sealed', '=', before).execute()
  }
}
