import type { Database } from '../db/database.js'
import type { MaybePromise } from '../lib/maybe-promise.js'
import type { ConsumerProgress, OutboxStore } from './outbox-store.js'

/** Who may run a consumer now. */
export interface Turn {
  /** Takes or keeps the turn. @returns whether it is this node's */
  take(): Promise<boolean>
  /** Without asking anybody. */
  readonly isTaken: boolean
  release(): Promise<void>
}

/** How far a consumer is. */
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

/** The turn of a consumer that every node runs for itself. */
export const everyNodesTurn: Turn = {
  isTaken: true,
  take: async () => true,
  release: async () => {},
}

/** A lease that is renewed when a third of its life is over. */
export class LeasedTurn implements Turn {
  #renewFrom = 0
  #validUntil = 0

  constructor(
    private readonly options: {
      readonly ttlMs: number
      acquire(ttlMs: number): Promise<boolean>
      release(): Promise<void>
    },
  ) {}

  get isTaken(): boolean {
    return performance.now() < this.#validUntil
  }

  async take(): Promise<boolean> {
    const startedAt = performance.now()
    if (startedAt < this.#renewFrom) return true
    const { ttlMs, acquire } = this.options
    if (await acquire(ttlMs)) {
      this.#renewFrom = startedAt + ttlMs / 3
      this.#validUntil = startedAt + ttlMs
    } else this.#forget()
    return this.isTaken
  }

  async release(): Promise<void> {
    const wasTaken = this.isTaken
    this.#forget()
    // A lease that cannot be given back ends by itself.
    if (wasTaken) await this.options.release().catch(() => {})
  }

  #forget(): void {
    this.#renewFrom = 0
    this.#validUntil = 0
  }
}
