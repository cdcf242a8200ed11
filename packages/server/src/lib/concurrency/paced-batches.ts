interface PacedBatchesOptions<Item> {
  readonly maxBatchSize: number
  /** The longest time from the end of a batch to the begin of the next one while that one is full. */
  readonly fullPaceMs: number
  /** Bounds the items that wait, of all keys together. */
  readonly maxWaiting: number
  /**
   * Does the work of items of one key.
   * @returns the error of each item, or null, and the time from the end of this batch to the begin
   * of the next one of the key
   */
  run(items: readonly Item[]): Promise<{
    readonly outcomes: readonly (Error | null)[]
    readonly paceMs: number
  }>
  /** The error for items that find too many waiting. */
  full(): Error
  /** The error for items whose caller has gone before their batch began. */
  dropped(): Error
}

interface Waiting<Item> {
  readonly item: Item
  resolve(): void
  reject(error: unknown): void
  /** Ends the interest in the caller. */
  taken(): void
}

/** The items of a key that was begun and whose pace is not over. */
interface Queue<Item> {
  readonly waiting: Set<Waiting<Item>>
  /** When the last batch ended, and the pace after it; undefined: it runs. */
  pace?: { readonly endedAt: number; readonly ms: number } | undefined
  timer?: NodeJS.Timeout
}

/** The pace after a batch that failed as a whole. */
const failedPaceMs = 1_000

/**
 * Batches of one key at a pace that the work sets: the first item is done at once, and those that
 * arrive until the pace is over are done together. A full batch waits for a shorter time. Keys do not
 * wait for one another.
 */
export class PacedBatches<Item> {
  readonly #queues = new Map<string, Queue<Item>>()
  #waiting = 0

  constructor(private readonly options: PacedBatchesOptions<Item>) {}

  /** The number of items that wait. */
  get waiting(): number {
    return this.#waiting
  }

  /**
   * Resolves when the work of the item is done.
   * @param gone drops the item when it is aborted before its batch begins
   */
  async add(key: string, item: Item, gone: AbortSignal): Promise<void> {
    if (gone.aborted) throw this.options.dropped()
    if (this.#waiting >= this.options.maxWaiting) throw this.options.full()
    const running = this.#queues.get(key)
    const queue = running ?? { waiting: new Set() }
    const done = this.#enqueue(queue.waiting, item, gone)
    if (!running) {
      this.#queues.set(key, queue)
      void this.#run(key, queue)
    } else if (queue.waiting.size === this.options.maxBatchSize) this.#schedule(key, queue)
    await done
  }

  #enqueue(queue: Set<Waiting<Item>>, item: Item, gone: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const drop = () => {
        queue.delete(waiting)
        this.#waiting--
        reject(this.options.dropped())
      }
      const taken = () => gone.removeEventListener('abort', drop)
      const waiting = { item, resolve, reject, taken }
      gone.addEventListener('abort', drop, { once: true })
      queue.add(waiting)
      this.#waiting++
    })
  }

  /** Does a batch, and the next one when the pace is over. */
  async #run(key: string, queue: Queue<Item>): Promise<void> {
    queue.pace = undefined
    const ms = await this.#settle(this.#take(queue.waiting))
    queue.pace = { endedAt: performance.now(), ms }
    this.#schedule(key, queue)
  }

  /** Sets the time of the next batch, unless one runs. */
  #schedule(key: string, queue: Queue<Item>): void {
    if (!queue.pace) return
    const { endedAt, ms } = queue.pace
    const { maxBatchSize, fullPaceMs } = this.options
    const paceMs = queue.waiting.size >= maxBatchSize ? Math.min(ms, fullPaceMs) : ms
    const next = () => {
      if (queue.waiting.size === 0) this.#queues.delete(key)
      else void this.#run(key, queue)
    }
    clearTimeout(queue.timer)
    queue.timer = setTimeout(next, Math.max(0, endedAt + paceMs - performance.now())).unref()
  }

  #take(queue: Set<Waiting<Item>>): Waiting<Item>[] {
    const batch = [...queue].slice(0, this.options.maxBatchSize)
    for (const each of batch) {
      queue.delete(each)
      each.taken()
    }
    this.#waiting -= batch.length
    return batch
  }

  /** @returns the pace */
  async #settle(batch: readonly Waiting<Item>[]): Promise<number> {
    try {
      const { outcomes, paceMs } = await this.options.run(batch.map(({ item }) => item))
      for (const [index, { resolve, reject }] of batch.entries()) {
        const error = outcomes[index] ?? null
        if (error) reject(error)
        else resolve()
      }
      return paceMs
    } catch (error) {
      for (const { reject } of batch) reject(error)
      return failedPaceMs
    }
  }
}
