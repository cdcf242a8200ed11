import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'

interface BackgroundPauseOptions {
  /** Counts the work that must not wait for background work. */
  count(): number
  /** Milliseconds that only grow; the process's clock by default. */
  readonly now?: () => number
  /** The default is `performance.eventLoopUtilization`. */
  readonly utilization?: (
    after?: EventLoopUtilization,
    before?: EventLoopUtilization,
  ) => EventLoopUtilization
}

const sampleMs = 100
/** The time without urgent work after which background work needs no pause. */
const quietMs = 1_000
/** Shares of time for which the event loop works. */
const mostBusy = 0.55
const leastBusy = 0.4
const factor = 1.5
const shortestMs = 1
/** The bound that lets background work continue under any load. */
const longestMs = 40

/**
 * Pauses between the parts of background work that keep the event loop free half of the time. They
 * grow while it is busier, and shrink while it is less busy.
 */
export class BackgroundPause {
  readonly #options: Required<BackgroundPauseOptions>
  #pauseMs = shortestMs
  #sampledAt: number
  #countedAt = Number.NEGATIVE_INFINITY
  #count: number
  #before: EventLoopUtilization
  #last: Promise<unknown> = Promise.resolve()

  constructor({
    count,
    now = () => performance.now(),
    utilization = performance.eventLoopUtilization,
  }: BackgroundPauseOptions) {
    this.#options = { count, now, utilization }
    this.#sampledAt = now()
    this.#count = count()
    this.#before = utilization()
  }

  /** @returns milliseconds; null when there is no urgent work */
  next(): number | null {
    const now = this.#options.now()
    if (now - this.#sampledAt >= sampleMs) this.#sample(now)
    return now - this.#countedAt < quietMs ? this.#pauseMs : null
  }

  /**
   * Waits until the next part of work in the background may begin. Callers rest one after another.
   * @returns false: no other work waits, so the part need not be small
   * @throws when it is aborted
   */
  rest(signal: AbortSignal): Promise<boolean> {
    const rested = this.#last.then(async () => {
      signal.throwIfAborted()
      const pauseMs = this.next()
      if (pauseMs !== null) await delay(pauseMs, undefined, { signal })
      return pauseMs !== null
    })
    this.#last = rested.catch(() => {})
    return rested
  }

  #sample(now: number): void {
    const { count, utilization } = this.#options
    const latest = utilization()
    const busy = utilization(latest, this.#before).utilization
    const counted = count()
    if (counted !== this.#count) this.#countedAt = now
    if (busy > mostBusy) this.#pauseMs = Math.min(this.#pauseMs * factor, longestMs)
    else if (busy < leastBusy) this.#pauseMs = Math.max(this.#pauseMs / factor, shortestMs)
    this.#sampledAt = now
    this.#count = counted
    this.#before = latest
  }
}
