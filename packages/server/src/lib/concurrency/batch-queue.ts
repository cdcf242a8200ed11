export interface BatchObserver {
  /** An item found the queue full. */
  refused(): void
  /** A batch is done, or failed; one that failed and is tried again item by item is told of again for each. */
  finished(batch: {
    readonly size: number
    readonly seconds: number
    readonly failed: boolean
  }): void
}

export interface BatchQueueOptions<Item, Result> {
  /** How much of a batch, and of the queue, an item takes; at least 1. */
  sizeOf(item: Item): number
  readonly maxBatchSize: number
  readonly maxQueuedSize: number
  /** Where the memory that items hold counts too. */
  readonly bytes?: BatchQueueBytes<Item>
  /** How many batches may be under way at once. */
  readonly maxBatches: number
  /**
   * Does the work of all items, or none of it.
   * @returns for each item its result, or the error that it ends with
   */
  run(items: readonly Item[]): Promise<readonly (Result | Error)[]>
  /** The error for items that find the queue full. */
  full(): Error
  /** Whether a failed batch may succeed for some of its items alone. */
  isErrorOfOne(error: unknown): boolean
  readonly observer: BatchObserver
}

export interface BatchQueueBytes<Item> {
  of(item: Item): number
  /** An item that is larger is a batch of its own. */
  readonly maxBatch: number
  /**
   * Of all items from when they are added until they are done. None takes more than half of what is left, so that there is always room
   * for small ones; where there is nothing else any item is taken.
   */
  readonly maxHeld: number
}

interface Pending<Item, Result> {
  readonly item: Item
  readonly size: number
  readonly bytes: number
  resolve(result: Result): void
  reject(error: unknown): void
}

/**
 * From this size of the queue on a batch starts at once, and takes no more unless very much waits: the rest of this turn's calls is read
 * while it is being written, and then written while its answers are.
 */
const fullBatchSize = 24

/**
 * Group commit: what all callers ask for while a commit is under way makes the next batch, so that one wait for the disk serves them
 * all. A batch that fails because of one of its items is tried again item by item, so that an error ends no other item than its own.
 */
export class BatchQueue<Item, Result> {
  readonly #queue: Pending<Item, Result>[] = []
  #queuedSize = 0
  #heldBytes = 0
  #running = 0
  #isScheduled = false
  #whenIdle: (() => void)[] = []

  constructor(private readonly options: BatchQueueOptions<Item, Result>) {}

  /** Resolves when the batch of the item is done. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const size = this.options.sizeOf(item)
      const bytes = this.options.bytes?.of(item) ?? 0
      if (!this.#hasRoom(size, bytes)) {
        this.options.observer.refused()
        throw this.options.full()
      }
      this.#queue.push({ item, size, bytes, resolve, reject })
      this.#queuedSize += size
      this.#heldBytes += bytes
      if (this.#queuedSize >= fullBatchSize && this.#mayStart()) this.#start()
      else this.#schedule()
    })
  }

  get queuedSize(): number {
    return this.#queuedSize
  }

  /** Of what waits and of what is under way. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** Resolves when everything that was added is done. */
  async idle(): Promise<void> {
    if (this.#queue.length === 0 && this.#running === 0) return
    await new Promise<void>((resolve) => this.#whenIdle.push(resolve))
  }

  #hasRoom(size: number, bytes: number): boolean {
    const { maxQueuedSize, bytes: bounds } = this.options
    if (this.#queuedSize + size > maxQueuedSize) return false
    return !bounds || this.#heldBytes === 0 || bytes <= (bounds.maxHeld - this.#heldBytes) / 2
  }

  #schedule(): void {
    if (this.#isScheduled || !this.#mayStart()) return
    this.#isScheduled = true
    // After the I/O of this turn, so that calls which arrived together are committed together.
    setImmediate(() => {
      this.#isScheduled = false
      this.#start()
    })
  }

  #mayStart(): boolean {
    return this.#running < this.options.maxBatches
  }

  #start(): void {
    const batch = this.#takeBatch()
    if (batch.length === 0) return
    this.#running++
    void this.#settle(batch).finally(() => {
      this.#running--
      for (const { bytes } of batch) this.#heldBytes -= bytes
      if (this.#queue.length > 0) this.#schedule()
      else if (this.#running === 0) for (const resolve of this.#whenIdle.splice(0)) resolve()
    })
    if (this.#queue.length > 0) this.#schedule()
  }

  #takeBatch(): Pending<Item, Result>[] {
    const { maxBatchSize, bytes: { maxBatch = 0 } = {} } = this.options
    const limit = Math.min(maxBatchSize, Math.max(fullBatchSize, this.#queuedSize / 2))
    let size = 0
    let bytes = 0
    let count = 0
    for (const each of this.#queue) {
      if (count > 0 && (size + each.size > limit || bytes + each.bytes > maxBatch)) break
      size += each.size
      bytes += each.bytes
      count++
    }
    this.#queuedSize -= size
    return this.#queue.splice(0, count)
  }

  async #run(items: readonly Item[]): Promise<readonly (Result | Error)[]> {
    const { run, sizeOf, observer } = this.options
    const startedAt = performance.now()
    let failed = true
    try {
      const outcomes = await run(items)
      failed = false
      return outcomes
    } finally {
      const size = items.reduce((sum, item) => sum + sizeOf(item), 0)
      observer.finished({ size, seconds: (performance.now() - startedAt) / 1_000, failed })
    }
  }

  async #settle(batch: readonly Pending<Item, Result>[]): Promise<void> {
    try {
      const outcomes = await this.#run(batch.map(({ item }) => item))
      for (const [index, pending] of batch.entries()) {
        const outcome = outcomes[index] as Result | Error
        if (outcome instanceof Error) pending.reject(outcome)
        else pending.resolve(outcome)
      }
    } catch (error) {
      const isRetried = batch.length > 1 && this.options.isErrorOfOne(error)
      if (isRetried) for (const pending of batch) await this.#settle([pending])
      else for (const pending of batch) pending.reject(error)
    }
  }
}
