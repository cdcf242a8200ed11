import type { Clock } from '../../../lib/clock.js'
import { EventLoopBudget } from '../../../lib/concurrency/event-loop-budget.js'
import { Slots } from '../../../lib/concurrency/slots.js'

import { type BucketRate, TokenBucket } from '../../../lib/limits/token-bucket.js'

export interface RequestLimits extends BucketRate {
  readonly maxInFlight: number
  /** Requests that may wait for a slot; further ones are refused. */
  readonly maxQueued: number
  /** The longest wait of a request, and of its job, for the rate. */
  readonly maxWaitMs: number
}

/** The reason of a refusal, and the time after which to try again. */
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
  readonly #slots: Slots
  /** Tokens that requests will take once they have a slot. */
  #unreserved = 0
  /** The time at which the latest refused request is to try again, milliseconds since 1970. */
  #returnsAt = 0

  constructor(
    private readonly limits: RequestLimits,
    private readonly clock: Clock,
  ) {
    this.#bucket = new TokenBucket(limits, clock)
    this.#slots = new Slots({
      parallel: limits.maxInFlight,
      maxWaiting: limits.maxQueued,
      full: () => new Error('too many requests wait'),
    })
  }

  get inFlight(): number {
    return this.#slots.running
  }

  /**
   * Runs the work when there is a slot and rate for it, in order.
   * @param cost tokens of the rate
   */
  async run<T>(cost: number, work: () => Promise<T>): Promise<T | LimiterRefusal> {
    const { maxWaitMs } = this.limits
    if (this.#slots.isFull) return { code: 'queue_full', retryAfterMs: queuePauseMs }
    if (this.#bucket.waitMs(this.#unreserved + cost) > maxWaitMs) return this.#rateExceeded(cost)
    this.#unreserved += cost
    return this.#slots.run(async () => {
      this.#unreserved -= cost
      const waitMs = this.#bucket.reserve(cost, maxWaitMs)
      if (waitMs === null) return this.#rateExceeded(cost)
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
      await this.#budget.begin()
      return work()
    })
  }

  slowDown(): void {
    this.#bucket.slowDown()
  }

  /** Spreads the retries of refused requests by the rate. Together they would be refused again. */
  #rateExceeded(cost: number): LimiterRefusal {
    const now = this.clock.now()
    const roomAt = Math.max(this.#returnsAt, now + this.#bucket.waitMs(this.#unreserved))
    this.#returnsAt = Math.min(roomAt + this.#bucket.durationMs(cost), now + longestPauseMs)
    // Whole seconds, so that several requests of a batch are sent together.
    return { code: 'rate_exceeded', retryAfterMs: Math.ceil((this.#returnsAt - now) / 1000) * 1000 }
  }
}
