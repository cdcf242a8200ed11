import type { Clock } from '../../../lib/clock.js'
import type { BucketRate } from '../../../lib/limits/bucket.js'
import { TokenBucket } from '../../../lib/limits/token-bucket.js'
import { TurnPacer } from './turn-pacer.js'

export interface GateLimits extends BucketRate {
  readonly maxInFlight: number
  /** Requests that wait for a place among those in flight; more are refused. */
  readonly maxQueued: number
  /** How long a request may wait for the rate. */
  readonly maxWaitMs: number
}

/** Why a request was not let through. */
export type GateRefusal = 'queue_full' | 'rate_exceeded'

/** A request of one device takes a tenth of a millisecond to make. */
const requestsPerTurn = 16

/** Lets a bounded number of requests to one gateway run at once, at a bounded rate. */
export class RequestGate {
  readonly #bucket: TokenBucket
  readonly #pacer = new TurnPacer(requestsPerTurn)
  readonly #waiting: (() => void)[] = []
  #inFlight = 0

  constructor(
    private readonly limits: GateLimits,
    clock: Clock,
  ) {
    this.#bucket = new TokenBucket(limits, clock)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /**
   * Runs the work when it is its turn, first come, first served.
   * @param cost tokens of the rate
   */
  async run<T>(cost: number, work: () => Promise<T>): Promise<T | GateRefusal> {
    if (!(await this.#enter())) return 'queue_full'
    try {
      const waitMs = this.#bucket.reserve(cost, this.limits.maxWaitMs)
      if (waitMs === null) return 'rate_exceeded'
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
      await this.#pacer.begin()
      return await work()
    } finally {
      this.#leave()
    }
  }

  slowDown(): void {
    this.#bucket.slowDown()
  }

  async #enter(): Promise<boolean> {
    if (this.#inFlight < this.limits.maxInFlight) {
      this.#inFlight++
      return true
    }
    if (this.#waiting.length >= this.limits.maxQueued) return false
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return true
  }

  /** The place goes to the next that waits. */
  #leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#inFlight--
  }
}
