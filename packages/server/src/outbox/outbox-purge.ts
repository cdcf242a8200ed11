import type { Database, Queryable } from '../db/database.js'
import type { Clock } from '../lib/clock.js'
import type { OutboxRow, OutboxStore } from './outbox-store.js'

/**
 * Returns the position in the outbox of an app that readers other than consumers have passed; null:
 * there are none.
 */
export type LogHolder = (db: Queryable, appId: string) => Promise<number | null>

interface OutboxPurgeOptions {
  readonly database: Database
  readonly store: OutboxStore
  readonly clock: Clock
  /** The names of the consumers. */
  readonly consumers: readonly string[]
  readonly holders: readonly LogHolder[]
  /** Younger rows are kept, also when every consumer has passed them. */
  readonly keptMs: number
  /** Older rows are deleted, also when a consumer has not passed them. */
  readonly maxLagMs: number
  /** Events were deleted before a consumer had passed them; called once each time it falls behind. */
  leftBehind(consumer: string, appId: string): void
}

type Oldest = Pick<OutboxRow, 'position' | 'createdAt'>

/** The rows of one deletion: few, so that no message waits for it. */
const rowsPerStep = 1_000

/** Deletes old rows that no consumer needs. */
export class OutboxPurge {
  constructor(private readonly options: OutboxPurgeOptions) {}

  async run(signal?: AbortSignal): Promise<void> {
    const { database, store } = this.options
    const heads = await database.read((db) => store.heads(db))
    for (const appId of heads.keys()) while (!signal?.aborted && (await this.#step(appId)));
  }

  /** @returns whether there may be more to delete */
  async #step(appId: string): Promise<boolean> {
    const { database, store, clock, keptMs, maxLagMs, consumers, holders, leftBehind } =
      this.options
    const [oldest, positions, held] = await database.read((db) =>
      Promise.all([
        store.listOldest(db, appId, rowsPerStep),
        store.positionsIn(db, appId),
        Promise.all(holders.map((holder) => holder(db, appId))),
      ]),
    )
    const now = clock.now()
    const passedByAll = Math.min(
      ...consumers.map((name) => positions.get(name) ?? 0),
      ...held.filter((position) => position !== null),
    )
    const mayGo = ({ position, createdAt }: Oldest) =>
      createdAt < now - keptMs && (position <= passedByAll || createdAt < now - maxLagMs)
    const end = oldest.findIndex((row) => !mayGo(row))
    const deleted = end < 0 ? oldest : oldest.slice(0, end)
    const [first, last] = [deleted.at(0), deleted.at(-1)]
    if (!first || !last) return false
    await database.transaction((tx) => store.deleteUpTo(tx, appId, last.position))
    for (const name of consumers) {
      const position = positions.get(name) ?? 0
      // A consumer that an earlier step left behind was reported then.
      if (position < last.position && position + 1 >= first.position) leftBehind(name, appId)
    }
    return deleted.length === rowsPerStep
  }
}
