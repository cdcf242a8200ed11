import { databaseNow } from '../../db/database-now.js'
import type { Database } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { paddedForPlanCache } from '../../lib/chunks.js'
import type { Clock } from '../../lib/clock.js'

/** Failed logins of a key on one node. */
export interface StoredFailures {
  /** The hash of a user and network, or of a network. */
  readonly key: string
  readonly nodeId: string
  readonly failures: number
  /** The time since the last one. */
  readonly ageMs: number
}

/** Rows that one read returns; the newest ones. */
const maxRead = 10_000
const purgeRows = 1_000

/** Failed logins that nodes tell one another. Every time is that of the database. */
export class FailureStore {
  readonly #now

  constructor(
    private readonly database: Database,
    clock: Clock,
  ) {
    this.#now = databaseNow(database.dialect, clock)
  }

  /** Replaces the rows of these keys. */
  async save(rows: readonly StoredFailures[]): Promise<void> {
    const now = this.#now()
    await this.database.statement((tx) =>
      tx
        .insertInto('failed_logins')
        .values(
          rows.map(({ key, nodeId, failures, ageMs }) => ({
            key_hash: key,
            node_id: nodeId,
            failures,
            failed_at: sql<number>`${now} - ${ageMs}`,
          })),
        )
        .onConflict((conflict) =>
          conflict.columns(['key_hash', 'node_id']).doUpdateSet((eb) => ({
            failures: eb.ref('excluded.failures'),
            failed_at: eb.ref('excluded.failed_at'),
          })),
        )
        .executeTakeFirst(),
    )
  }

  /** Removes the rows of these keys, of all nodes. */
  async clear(keys: readonly string[]): Promise<void> {
    await this.database.statement((tx) =>
      tx
        .deleteFrom('failed_logins')
        .where('key_hash', 'in', paddedForPlanCache(keys))
        .executeTakeFirst(),
    )
  }

  /** Lists the rows whose last failure is younger, the newest ones first. */
  async list(youngerThanMs: number): Promise<StoredFailures[]> {
    const now = this.#now()
    const rows = await this.database.read((db) =>
      db
        .selectFrom('failed_logins')
        .select(['key_hash', 'node_id', 'failures', sql<number>`${now} - failed_at`.as('age')])
        .where('failed_at', '>', sql<number>`${now} - ${youngerThanMs}`)
        .orderBy('failed_at', 'desc')
        .limit(maxRead)
        .execute(),
    )
    return rows.map(({ key_hash, node_id, failures, age }) => ({
      key: key_hash,
      nodeId: node_id,
      failures,
      ageMs: Number(age),
    }))
  }

  /** Deletes some rows whose last failure is older. */
  async purge(olderThanMs: number): Promise<void> {
    const now = this.#now()
    await this.database.statement((tx) =>
      tx
        .deleteFrom('failed_logins')
        .where('key_hash', 'in', (eb) =>
          eb
            .selectFrom('failed_logins')
            .select('key_hash')
            .where('failed_at', '<', sql<number>`${now} - ${olderThanMs}`)
            .limit(purgeRows),
        )
        .where('failed_at', '<', sql<number>`${now} - ${olderThanMs}`)
        .executeTakeFirst(),
    )
  }
}
