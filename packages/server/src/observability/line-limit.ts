/** Limits log lines about events that may happen with every call: one per interval, a second by default. */
export class LineLimit {
  #nextAt = Number.NEGATIVE_INFINITY
  #leftOut = 0

  constructor(private readonly everyMs = 1_000) {}

  /**
   * @returns the number of lines that were left out since the last one; null: the caller leaves out
   * this one
   */
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
