/** So many things are looked up by one statement; between two of them other calls have their turn. */
export const lookUpPiece = 250

/**
 * Long work in pieces: one piece at the most runs in each turn of the event loop, however much work is under way, so that other calls wait
 * for one piece and not for all of it.
 */
export class Turns {
  readonly #waiting: (() => void)[] = []
  #isScheduled = false

  /** Resolves when the next piece may run; those who wait take turns. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#schedule()
    })
  }

  /** Pieces of a list, at most `size` items each: the first one at once, each further one in a turn of its own. */
  async *pieces<T>(list: readonly T[], size: number): AsyncGenerator<T[], void> {
    for (let start = 0; start < list.length; start += size) {
      if (start > 0) await this.next()
      yield list.slice(start, start + size)
    }
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#waiting.shift()?.()
      this.#schedule()
    })
  }
}
