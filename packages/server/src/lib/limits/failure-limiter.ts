import { boundedCache } from './bounded-cache.js'

export interface FailureLimiterOptions {
  /** Milliseconds since 1970. */
  readonly clock: { now(): number }
  /** Failures in a row after which attempts have to wait. */
  readonly limit: number
  /** The waits double from one second up to this. */
  readonly maxWaitMs: number
  /** Failures are forgotten after this time without another. */
  readonly forgetMs: number
  /** Failures also expire one by one: a shared key is never without a failure for long. */
  readonly isShared?: boolean
}

interface Failures {
  readonly count: number
  readonly at: number
}

const maxKeys = 50_000
const firstWaitMs = 1000

/** Slows down failing attempts by key. The counts are bounded and live in this process. */
export class FailureLimiter {
  readonly #failures = boundedCache<string, Failures>(maxKeys)

  constructor(private readonly options: FailureLimiterOptions) {}

  failed(key: string): void {
    this.#failures.set(key, { count: this.count(key) + 1, at: this.options.clock.now() })
  }

  clear(key: string): void {
    this.#failures.delete(key)
  }

  /** The failures that still count. */
  count(key: string): number {
    const { clock, forgetMs, limit, isShared } = this.options
    const failures = this.#failures.get(key)
    if (!failures) return 0
    const quietMs = Math.max(0, clock.now() - failures.at)
    if (quietMs >= forgetMs) return 0
    return isShared ? Math.max(0, failures.count - (quietMs / forgetMs) * limit) : failures.count
  }

  /** Attempts that may run at once. */
  free(key: string): number {
    return Math.max(1, this.options.limit - this.count(key))
  }

  /** Milliseconds that attempts have to wait. */
  waitMs(key: string): number {
    const { clock, limit, maxWaitMs } = this.options
    const failures = this.#failures.get(key)
    if (!failures) return 0
    const excess = Math.round(failures.count) - limit
    if (excess < 0) return 0
    const waitMs = Math.min(maxWaitMs, firstWaitMs * 2 ** excess)
    // Bounded, for a clock that was set back.
    return Math.max(0, Math.min(waitMs, failures.at + waitMs - clock.now()))
  }
}
