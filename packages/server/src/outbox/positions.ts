import type { Database } from '../db/database.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import type { ConsumerProgress, OutboxStore } from './outbox-store.js'

/** The positions of a consumer in each app, which outlast the node. */
export class Positions {
  constructor(
    private readonly consumer: string,
    private readonly options: { readonly database: Database; readonly store: OutboxStore },
  ) {}

  listBehind(): MaybePromise<readonly ConsumerProgress[]> {
    const { database, store } = this.options
    return database.read((db) => store.listBehind(db, this.consumer))
  }

  get(appId: string): MaybePromise<number> {
    const { database, store } = this.options
    return database.read((db) => store.positionOf(db, this.consumer, appId))
  }

  /** @returns false when the consumer is not at `from`: another node has moved it */
  move(appId: string, from: number, to: number): Promise<boolean> {
    const { database, store } = this.options
    const key = { consumer: this.consumer, appId }
    return database.statement((tx) => store.movePosition(tx, key, from, to))
  }
}
