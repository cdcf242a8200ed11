/** What one may take over time, and at once after a pause. */
export interface BucketRate {
  readonly perSecond: number
  readonly burst: number
}

/** Tokens that come back with time. It opens while it holds a whole one; what is charged beyond that is a debt that time pays off. */
export class Bucket {
  #tokens: number
  #filledAt = performance.now()

  constructor(rate: BucketRate) {
    this.#tokens = rate.burst
  }

  /** @returns 0 when a token was taken, else the whole seconds after which there is one */
  take(rate: BucketRate): number {
    const waitSeconds = this.wait(rate)
    if (waitSeconds === 0) this.#tokens--
    return waitSeconds
  }

  /** @returns 0 while there is a token, which stays, else the whole seconds after which there is one */
  wait(rate: BucketRate): number {
    this.#fill(rate)
    if (this.#tokens >= 1) return 0
    return Math.max(1, Math.ceil((1 - this.#tokens) / rate.perSecond))
  }

  /** Takes tokens that may not be there yet. */
  charge(tokens: number): void {
    this.#tokens -= tokens
  }

  giveBack({ burst }: BucketRate): void {
    this.#tokens = Math.min(burst, this.#tokens + 1)
  }

  #fill({ perSecond, burst }: BucketRate): void {
    const now = performance.now()
    this.#tokens = Math.min(burst, this.#tokens + ((now - this.#filledAt) / 1000) * perSecond)
    this.#filledAt = now
  }
}
