/** Receives sizes and durations of batches, for metrics. */
export interface BatchObserver {
  /** Reports that an item was refused because the queue is full. */
  refused(): void
  /**
   * Reports a finished or failed batch. A failed batch that is retried item by item is reported
   * again for each item.
   */
  finished(batch: {
    readonly size: number
    readonly seconds: number
    readonly failed: boolean
  }): void
}

interface BatchQueueOptions<Item, Result> {
  /** The size of an item in batches and in the queue; at least 1. */
  sizeOf(item: Item): number
  readonly maxBatchSize: number
  readonly maxQueuedSize: number
  /** Bounds by memory, in addition to the size. */
  readonly bytes?: BatchQueueBytes<Item>
  /** Batches that may run at once. */
  readonly maxBatches: number
  /**
   * Does the work of all items, or none of it.
   * @returns the result of each item, or the error that it ends with
   */
  run(items: readonly Item[]): Promise<readonly (Result | Error)[]>
  /** The error for items that find the queue full. */
  full(): Error
  /** Tells whether a failed batch may succeed for some of its items. */
  isErrorOfOne(error: unknown): boolean
  readonly observer: BatchObserver
}

interface BatchQueueBytes<Item> {
  of(item: Item): number
  /** A larger item is a batch alone. */
  readonly maxBatch: number
  /**
   * Bytes of all items that wait or run. An item takes at most half of the free rest, so that there
   * is always room for small items; an empty queue takes any item.
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
 * The size of the queue from which a batch starts at once. It takes no more items unless very many
 * wait: the calls of this turn are read while the batch is written.
 */
const fullBatchSize = 24

/**
 * Group commit: the items that arrive during a commit make the next batch, so that one wait for the
 * disk serves them all. A batch that fails because of one of its items is retried item by item, so
 * that only this item fails.
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

  /** Bytes of the items that wait or run. */
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
    // After the I/O of this turn, so that calls that arrived together are committed together.
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
