import type { MaybePromise } from '../maybe-promise.js'

/** Rows that one statement looks up. Other calls run between two such statements. */
export const lookupChunk = 250

interface EventLoopBudgetOptions {
  /** Pieces of work, or bytes, that begin in one turn of the event loop. */
  readonly perTurn: number
  /** Works that may run at once; unbounded by default. */
  readonly maxRunning?: number
}

/**
 * Bounds the work of one turn of the event loop, by count or by bytes. Work above the bound waits
 * for a later turn, in order, so that other calls run in between.
 */
export class EventLoopBudget {
  readonly #waiting: (() => void)[] = []
  readonly #perTurn: number
  readonly #maxRunning: number
  #spent = 0
  #running = 0

  constructor({ perTurn, maxRunning = Number.POSITIVE_INFINITY }: EventLoopBudgetOptions) {
    this.#perTurn = perTurn
    this.#maxRunning = maxRunning
  }

  /** Takes one piece of the budget, of this turn if any is left. */
  begin(): Promise<void> {
    return new Promise((resolve) =>
      this.#enter(() => {
        this.#spend(1)
        resolve()
      }),
    )
  }

  /**
   * Splits a list into chunks of at most `size` items. The first one needs no budget, each further
   * one takes a piece of it.
   */
  async *chunks<T>(list: readonly T[], size: number): AsyncGenerator<T[], void> {
    if (list.length > size) this.#spend(1)
    for (let start = 0; start < list.length; start += size) {
      if (start > 0) await this.begin()
      yield list.slice(start, start + size)
    }
  }

  /**
   * Runs work that takes the cost of its result from the budget. It begins at once unless other
   * work waits or the budget is spent.
   * @param costOf for example the bytes of the result
   */
  run<T>(work: () => MaybePromise<T>, costOf: (result: T) => number): MaybePromise<T> {
    if (this.#waiting.length === 0 && this.#mayBegin) return this.#run(work, costOf)
    return new Promise<T>((resolve, reject) =>
      this.#waiting.push(() => {
        try {
          resolve(this.#run(work, costOf))
        } catch (error) {
          reject(error)
        }
      }),
    )
  }

  #run<T>(work: () => MaybePromise<T>, costOf: (result: T) => number): MaybePromise<T> {
    const paid = (result: T): T => {
      this.#spend(costOf(result))
      return result
    }
    const found = work()
    if (!(found instanceof Promise)) return paid(found)
    this.#running++
    return found.then(paid).finally(() => {
      this.#running--
      this.#admit()
    })
  }

  get #mayBegin(): boolean {
    return this.#running < this.#maxRunning && this.#spent < this.#perTurn
  }

  #enter(begin: () => void): void {
    this.#waiting.push(begin)
    this.#admit()
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#mayBegin) this.#waiting.shift()?.()
  }

  #spend(cost: number): void {
    const isFirst = this.#spent === 0 && cost > 0
    this.#spent += cost
    if (!isFirst) return
    setImmediate(() => {
      this.#spent = 0
      this.#admit()
    })
  }
}
