/** The tokens that come back in a second, and the most that a bucket holds. */
export interface BucketRate {
  readonly perSecond: number
  readonly burst: number
}

const slowestShare = 1 / 16
const recoveryMs = 60_000

/**
 * Tokens that come back with time. Callers may take more than there are: the debt is paid off with
 * time too. A bucket that is slowed down fills at half its rate, down to a sixteenth, and doubles
 * that rate each minute.
 */
export class TokenBucket {
  #tokens: number
  #filledAt: number
  #share = 1
  #slowedAt = 0

  /** @param clock milliseconds; by default the process's own, which no change of the machine's time moves */
  constructor(
    public rate: BucketRate,
    private readonly clock: { now(): number } = performance,
  ) {
    this.#tokens = rate.burst
    this.#filledAt = clock.now()
  }

  /**
   * Takes one token if there is one.
   * @returns 0 when it was taken, else the whole seconds after which there is one
   */
  take(): number {
    const waitSeconds = this.waitSeconds()
    if (waitSeconds === 0) this.#tokens--
    return waitSeconds
  }

  /** @returns 0 while there is a token, else the whole seconds after which there is one; takes nothing */
  waitSeconds(): number {
    return Math.ceil(this.waitMs(1) / 1000)
  }

  /** @returns 0 unless more was taken than there was, else the whole seconds after which that is paid off */
  debtSeconds(): number {
    return Math.ceil(this.waitMs(0) / 1000)
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

  /** Milliseconds until a number of tokens is there; takes nothing. */
  waitMs(count: number): number {
    this.#fill()
    const missing = count - this.#tokens
    return missing <= 0 ? 0 : Math.ceil(this.durationMs(missing))
  }

  /** Milliseconds in which a number of tokens comes at the present rate. */
  durationMs(count: number): number {
    return (count / this.#perSecond) * 1000
  }

  /** Takes tokens, also those that are yet to come; less than 0 gives back. */
  charge(tokens: number): void {
    this.#tokens -= tokens
  }

  giveBack(): void {
    this.#tokens = Math.min(this.rate.burst, this.#tokens + 1)
  }

  slowDown(): void {
    this.#fill()
    this.#share = Math.max(this.#share / 2, slowestShare)
    this.#slowedAt = this.clock.now()
  }

  get #perSecond(): number {
    return this.rate.perSecond * this.#share
  }

  #fill(): void {
    const now = this.clock.now()
    const elapsedMs = Math.max(0, now - this.#filledAt)
    this.#tokens = Math.min(this.rate.burst, this.#tokens + (elapsedMs / 1000) * this.#perSecond)
    this.#filledAt = now
    while (this.#share < 1 && now - this.#slowedAt >= recoveryMs) {
      this.#share *= 2
      this.#slowedAt += recoveryMs
    }
  }
}
