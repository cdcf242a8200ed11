import { randomUUID } from 'node:crypto'
import type { Queryable, Tx } from '../database.js'
import { sql } from '../kysely.js'
import { lockForUpdate } from '../locking.js'

/** The folder that has the files of the database. */
export interface FilesFolder {
  /** The content of a file in it. */
  readonly mark: string
  /** The node whose own it is; null: nodes share it. */
  readonly nodeId: string | null
}

/** The epoch of the database, which names its history, and the folder that has its files. */
export class IdentityStore {
  async epoch(db: Queryable): Promise<string> {
    const { epoch } = await db
      .selectFrom('database_identity')
      .select('epoch')
      .executeTakeFirstOrThrow()
    return epoch
  }

  /** Locks the row. @returns null for a folder that is not noted yet */
  async lockFilesFolder(tx: Tx): Promise<{ epoch: string; folder: FilesFolder | null }> {
    const row = tx
      .selectFrom('database_identity')
      .select(['epoch', 'files_folder as mark', 'files_node as nodeId'])
    const { epoch, mark, nodeId } = await lockForUpdate(tx, row).executeTakeFirstOrThrow()
    return { epoch, folder: mark === null ? null : { mark, nodeId } }
  }

  async setFilesFolder(tx: Tx, { mark, nodeId }: FilesFolder): Promise<void> {
    await tx
      .updateTable('database_identity')
      .set({ files_folder: mark, files_node: nodeId })
      .execute()
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
