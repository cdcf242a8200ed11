import type { Clock } from '../../../lib/clock.js'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import type { BucketRate } from '../../../lib/limits/bucket.js'
import { TokenBucket } from '../../../lib/limits/token-bucket.js'

export interface RequestLimits extends BucketRate {
  readonly maxInFlight: number
  /** Requests that wait for a place among those in flight; further requests are refused. */
  readonly maxQueued: number
  /** Longest wait for the rate, which also delays the job of the request. */
  readonly maxWaitMs: number
}

/** Reason why a request was refused, and when to retry it. */
export interface LimiterRefusal {
  readonly code: 'queue_full' | 'rate_exceeded'
  readonly retryAfterMs: number
}

const queuePauseMs = 1_000
const longestPauseMs = 300_000

/** Building a request for one device takes a tenth of a millisecond. */
const requestsPerTurn = 16

/** Bounds the number of concurrent requests to one gateway, and their rate. */
export class RequestLimiter {
  readonly #bucket: TokenBucket
  readonly #budget = new EventLoopBudget({ perTurn: requestsPerTurn })
  readonly #waiting: (() => void)[] = []
  #inFlight = 0
  /** Cost of the requests that wait for a place. */
  #unreserved = 0
  /** Retry time of the last request that the rate refused, milliseconds since 1970. */
  #returnsAt = 0

  constructor(
    private readonly limits: RequestLimits,
    private readonly clock: Clock,
  ) {
    this.#bucket = new TokenBucket(limits, clock)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /**
   * Runs work in order of arrival.
   * @param cost tokens of the rate
   */
  async run<T>(cost: number, work: () => Promise<T>): Promise<T | LimiterRefusal> {
    const { maxWaitMs, maxInFlight, maxQueued } = this.limits
    if (this.#inFlight >= maxInFlight && this.#waiting.length >= maxQueued)
      return { code: 'queue_full', retryAfterMs: queuePauseMs }
    if (this.#bucket.waitMs(this.#unreserved + cost) > maxWaitMs) return this.#rateExceeded(cost)
    this.#unreserved += cost
    await this.#enter()
    this.#unreserved -= cost
    try {
      const waitMs = this.#bucket.reserve(cost, maxWaitMs)
      if (waitMs === null) return this.#rateExceeded(cost)
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
      await this.#budget.begin()
      return await work()
    } finally {
      this.#leave()
    }
  }

  slowDown(): void {
    this.#bucket.slowDown()
  }

  async #enter(): Promise<void> {
    if (this.#inFlight < this.limits.maxInFlight) this.#inFlight++
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Spaces the retries of refused requests at the rate; together they would be refused again. */
  #rateExceeded(cost: number): LimiterRefusal {
    const now = this.clock.now()
    const roomAt = Math.max(this.#returnsAt, now + this.#bucket.waitMs(this.#unreserved))
    this.#returnsAt = Math.min(roomAt + this.#bucket.durationMs(cost), now + longestPauseMs)
    // Whole seconds, so that several requests of a batch are sent together.
    return { code: 'rate_exceeded', retryAfterMs: Math.ceil((this.#returnsAt - now) / 1000) * 1000 }
  }

  /** Passes the place to the next waiting request. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#inFlight--
  }
}
