import type { MaybePromise } from '../maybe-promise.js'

export interface PaceOptions {
  /** How much work may be under way at once. */
  readonly maxRunning: number
  /** How many bytes it may bring in one turn of the event loop. */
  readonly maxBytesPerTurn: number
}

/**
 * Work that brings much into memory, bit by bit: what would bring more than one turn of the event loop may wait for the next one, in the order
 * in which it came, so that what was brought can leave, and other calls have their turn.
 */
export class Paced {
  readonly #waiting: (() => void)[] = []
  #running = 0
  #bytes = 0

  constructor(private readonly options: PaceOptions) {}

  /** At once where nothing waits and the result is at hand. @param bytesOf how much memory a result takes */
  run<T>(work: () => MaybePromise<T>, bytesOf: (result: T) => number): MaybePromise<T> {
    if (this.#waiting.length === 0 && this.#mayRun()) return this.#begin(work, bytesOf)
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(() => {
        try {
          resolve(this.#begin(work, bytesOf))
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  #begin<T>(work: () => MaybePromise<T>, bytesOf: (result: T) => number): MaybePromise<T> {
    const brought = (result: T): T => {
      this.#brought(bytesOf(result))
      return result
    }
    const found = work()
    if (!(found instanceof Promise)) return brought(found)
    this.#running++
    return found.then(brought).finally(() => {
      this.#running--
      this.#admit()
    })
  }

  #mayRun(): boolean {
    const { maxRunning, maxBytesPerTurn } = this.options
    return this.#running < maxRunning && this.#bytes < maxBytesPerTurn
  }

  #brought(bytes: number): void {
    const isFirst = this.#bytes === 0 && bytes > 0
    this.#bytes += bytes
    if (isFirst)
      setImmediate(() => {
        this.#bytes = 0
        this.#admit()
      })
  }

  #admit(): void {
    while (this.#waiting.length > 0 && this.#mayRun()) this.#waiting.shift()?.()
  }
}
