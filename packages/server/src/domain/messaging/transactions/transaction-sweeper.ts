import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { TransactionKey } from './transaction-statements.js'
import type { TransactionStore } from './transaction-store.js'

export interface TransactionSweeperOptions {
  readonly database: Database
  readonly store: TransactionStore
  readonly clock: Clock
}

const rowsPerStep = 5_000
const stepsPerRun = 60

/**
 * Deletes expired transaction IDs. Walks the whole table in short steps, so that sends maintain no
 * index by time and wait for no long step.
 */
export class TransactionSweeper {
  #cursor: TransactionKey | null = null

  constructor(private readonly options: TransactionSweeperOptions) {}

  /** Continues where the last run stopped. */
  async run(): Promise<void> {
    const { database, store, clock } = this.options
    for (let step = 0; step < stepsPerRun; step++) {
      const after = this.#cursor
      const upTo = await database.read((db) => store.findKeyAfter(db, after, rowsPerStep))
      await database.transaction((tx) => store.deleteExpired(tx, { after, upTo }, clock.now()))
      this.#cursor = upTo
      if (upTo === null) return
    }
  }
}
