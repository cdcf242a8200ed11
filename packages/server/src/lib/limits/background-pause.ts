import { type EventLoopUtilization, performance } from 'node:perf_hooks'

export interface BackgroundPauseOptions {
  /** Counts what must not wait for the work in the background. */
  count(): number
  /** Milliseconds that only grow; the process's own by default. */
  readonly now?: () => number
  /** As `performance.eventLoopUtilization`. */
  readonly utilization?: (
    after?: EventLoopUtilization,
    before?: EventLoopUtilization,
  ) => EventLoopUtilization
}

const sampleMs = 100
/** Nothing of what must not wait has come for so long: then nobody waits. */
const quietMs = 1_000
/** Shares of time that the event loop is at work. */
const mostBusy = 0.55
const leastBusy = 0.4
const factor = 1.5
const shortestMs = 1
/** However busy it is, the work in the background goes on. */
const longestMs = 40

/**
 * How long work in the background rests between its parts, so that the event loop is free for others half of the time: longer while it is
 * busier than that, and shorter while it is less.
 */
export class BackgroundPause {
  readonly #options: Required<BackgroundPauseOptions>
  #pauseMs = shortestMs
  #sampledAt: number
  #countedAt = Number.NEGATIVE_INFINITY
  #count: number
  #before: EventLoopUtilization

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

  /** @returns milliseconds; null when there is nobody who waits for the work in the background */
  next(): number | null {
    const now = this.#options.now()
    if (now - this.#sampledAt >= sampleMs) this.#sample(now)
    return now - this.#countedAt < quietMs ? this.#pauseMs : null
  }

  /** Whether there is anybody who waits for it. */
  get isNeeded(): boolean {
    return this.next() !== null
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
