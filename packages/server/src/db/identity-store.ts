import { randomUUID } from 'node:crypto'
import type { Queryable, Tx } from './database.js'

/** The epoch of the database, which names its history. */
export class IdentityStore {
  async epoch(db: Queryable): Promise<string> {
    const { epoch } = await db
      .selectFrom('database_identity')
      .select('epoch')
      .executeTakeFirstOrThrow()
    return epoch
  }

  /** Begins a new history: clients drop what they have stored and sync from the start. @returns the new epoch */
  async renew(tx: Tx): Promise<string> {
    const epoch = randomUUID()
    await tx.updateTable('database_identity').set({ epoch }).execute()
    return epoch
  }
}
