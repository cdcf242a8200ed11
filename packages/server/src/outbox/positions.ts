import type { Database } from '../db/database.js'
import type { Lease } from '../lib/concurrency/lease.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import type { ConsumerProgress, OutboxStore } from './outbox-store.js'

/** The right to run a consumer on this node. */
export type ConsumerLease = Pick<Lease, 'take' | 'isHeld' | 'release'>

/** The position of a consumer in each app. */
export interface Positions {
  listBehind(): MaybePromise<readonly ConsumerProgress[]>
  get(appId: string): MaybePromise<number>
  /** @returns false when the consumer is not at `from`: another node has moved it */
  move(appId: string, from: number, to: number): Promise<boolean>
}

/** Positions that outlast the node. */
export class StoredPositions implements Positions {
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

  move(appId: string, from: number, to: number): Promise<boolean> {
    const { database, store } = this.options
    const key = { consumer: this.consumer, appId }
    return database.statement((tx) => store.movePosition(tx, key, from, to))
  }
}

/** Positions of this node alone, which begin at the end. */
export class NodePositions implements Positions {
  #positions: Map<string, number> | undefined

  constructor(
    private readonly options: { readonly database: Database; readonly store: OutboxStore },
  ) {}

  async listBehind(): Promise<readonly ConsumerProgress[]> {
    const { database, store } = this.options
    const heads = await database.read((db) => store.heads(db))
    this.#positions ??= new Map(heads)
    const positions = this.#positions
    return [...heads].flatMap(([appId, head]) => {
      const position = positions.get(appId) ?? 0
      return head > position ? [{ appId, head, position }] : []
    })
  }

  async get(appId: string): Promise<number> {
    if (!this.#positions) await this.listBehind()
    return this.#positions?.get(appId) ?? 0
  }

  async move(appId: string, _from: number, to: number): Promise<boolean> {
    this.#positions?.set(appId, to)
    return true
  }
}

/** The lease of a consumer that every node runs. */
export const sharedLease: ConsumerLease = {
  isHeld: true,
  take: async () => true,
  release: async () => {},
}
