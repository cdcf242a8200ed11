import { randomUUID } from 'node:crypto'
import type { Queryable, Tx } from '../database.js'
import { sql } from '../kysely.js'

/** The epoch of the database, which names its history. */
export class IdentityStore {
  async epoch(db: Queryable): Promise<string> {
    const { epoch } = await db
      .selectFrom('database_identity')
      .select('epoch')
      .executeTakeFirstOrThrow()
    return epoch
  }

  /**
   * Counts the connections of nodes and commands to PostgreSQL without this one; 0 for the embedded
   * database, which has a lock.
   */
  async countOtherConnections(tx: Tx): Promise<number> {
    if (!tx.hasRowLocks) return 0
    const { rows } = await sql<{ count: number }>`select count(*) as count from pg_stat_activity
      where datname = current_database() and application_name = 'hermod' and pid <> pg_backend_pid()`.execute(
      tx,
    )
    return rows[0]?.count ?? 0
  }

  /**
   * Begins a new history: clients drop what they have stored and sync from the start.
   * @returns the new epoch
   */
  async renew(tx: Tx): Promise<string> {
    const epoch = randomUUID()
    await tx.updateTable('database_identity').set({ epoch }).execute()
    return epoch
  }
}
