/** One line a second, or as often as is said, of what may happen with every call. */
export class LineLimit {
  #nextAt = Number.NEGATIVE_INFINITY
  #leftOut = 0

  constructor(private readonly everyMs = 1_000) {}

  /** @returns how many lines were left out since the last one; null: this one is to be left out as well */
  next(now = performance.now()): number | null {
    if (now < this.#nextAt) {
      this.#leftOut++
      return null
    }
    this.#nextAt = now + this.everyMs
    const leftOut = this.#leftOut
    this.#leftOut = 0
    return leftOut
  }
}
