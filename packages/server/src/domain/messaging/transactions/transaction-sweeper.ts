import type { Database } from '../../../db/database.js'
import type { Clock } from '../../../lib/clock.js'
import type { TransactionPlace, TransactionStore } from './transaction-store.js'

export interface TransactionSweeperOptions {
  readonly database: Database
  readonly store: TransactionStore
  readonly clock: Clock
}

const rowsPerStep = 5_000
const stepsPerRun = 60

/**
 * Forgets transaction IDs whose time is over. It walks through the whole table over and over, a stretch at a time, so that sends need
 * not maintain an index by time; a stretch is short enough for no send to wait long for it.
 */
export class TransactionSweeper {
  #place: TransactionPlace | null = null

  constructor(private readonly options: TransactionSweeperOptions) {}

  /** Goes on from where the last run stopped. */
  async run(): Promise<void> {
    const { database, store, clock } = this.options
    for (let step = 0; step < stepsPerRun; step++) {
      const after = this.#place
      const upTo = await database.read((db) => store.findPlaceAfter(db, after, rowsPerStep))
      await database.transaction((tx) => store.deleteExpired(tx, { after, upTo }, clock.now()))
      this.#place = upTo
      if (upTo === null) return
    }
  }
}
