import type { BucketRate } from './bucket.js'

const slowestShare = 1 / 16
const recoveryMs = 60_000

/**
 * A rate for callers that wait their turn: each reserves its part and is told how long to wait.
 * Told to slow down, it runs at half the rate, down to a sixteenth, and doubles it each minute.
 */
export class TokenBucket {
  #tokens: number
  #filledAt: number
  #share = 1
  #slowedAt = 0

  constructor(
    private readonly limits: BucketRate,
    private readonly clock: { now(): number },
  ) {
    this.#tokens = limits.burst
    this.#filledAt = clock.now()
  }

  /**
   * Takes tokens, also those that are yet to come.
   * @returns milliseconds until they are there; null: more than `maxWaitMs`, and nothing is taken
   */
  reserve(count: number, maxWaitMs: number): number | null {
    const waitMs = this.waitMs(count)
    if (waitMs > maxWaitMs) return null
    this.#tokens -= count
    return waitMs
  }

  /** Milliseconds until so many tokens are there; nothing is taken. */
  waitMs(count: number): number {
    this.#fill()
    const missing = count - this.#tokens
    return missing <= 0 ? 0 : Math.ceil(this.durationMs(missing))
  }

  /** Milliseconds in which so many tokens come at the present rate. */
  durationMs(count: number): number {
    return (count / this.#rate()) * 1000
  }

  slowDown(): void {
    this.#fill()
    this.#share = Math.max(this.#share / 2, slowestShare)
    this.#slowedAt = this.clock.now()
  }

  #rate(): number {
    return this.limits.perSecond * this.#share
  }

  #fill(): void {
    const now = this.clock.now()
    const elapsedMs = Math.max(0, now - this.#filledAt)
    this.#tokens = Math.min(this.limits.burst, this.#tokens + (elapsedMs / 1000) * this.#rate())
    this.#filledAt = now
    while (this.#share < 1 && now - this.#slowedAt >= recoveryMs) {
      this.#share *= 2
      this.#slowedAt += recoveryMs
    }
  }
}
