import type { Database, Tx } from '../db/database.js'
import type { Clock } from '../lib/clock.js'

/**
 * Leases of work that one node at a time does. A holder that does not renew its lease in time may
 * lose it.
 */
export class LeaseStore {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /**
   * Takes a lease that is free or expired, or renews one that the owner has. @returns false when
   * another owner has it
   */
  async acquire(name: string, owner: string, ttlMs: number): Promise<boolean> {
    const now = this.clock.now()
    return this.database.statement(async (tx) => {
      const values = { owner, expires_at: now + ttlMs }
      const { numInsertedOrUpdatedRows } = await tx
        .insertInto('leases')
        .values({ name, ...values })
        .onConflict((conflict) =>
          conflict
            .column('name')
            .doUpdateSet(values)
            .where(({ eb, or }) =>
              or([eb('leases.owner', '=', owner), eb('leases.expires_at', '<=', now)]),
            ),
        )
        .executeTakeFirst()
      return (numInsertedOrUpdatedRows ?? 0n) > 0n
    })
  }

  /** Writes and commits, and leaves no row behind. @throws AppError storage_failed */
  async probe(owner: string): Promise<void> {
    const name = `probe/${owner}`
    await this.database.transaction(async (tx) => {
      await tx.insertInto('leases').values({ name, owner, expires_at: 0 }).execute()
      await tx.deleteFrom('leases').where('name', '=', name).execute()
    })
  }

  /** Gives back a lease of the owner, so that others need not wait for its end. */
  async release(name: string, owner: string): Promise<void> {
    await this.database.statement(async (tx) => {
      await tx
        .deleteFrom('leases')
        .where('name', '=', name)
        .where('owner', '=', owner)
        .executeTakeFirst()
    })
  }

  /** Ends the leases of all owners. The caller knows that none of them runs. */
  async endAll(tx: Tx): Promise<void> {
    await tx.deleteFrom('leases').execute()
  }
}
