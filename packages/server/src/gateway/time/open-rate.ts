import { parallelOpens } from '../limits.js'

/** The share of a measured time in the mean, so that about the last 50 opens count. */
const share = 0.02
const slowestPerSecond = 100
const fastestPerSecond = 1_000
/** The time that a restart takes at least. */
const restartMs = 1_000

/**
 * Measures how fast sessions open, and spreads the return of clients after a shutdown over the time
 * that this needs.
 */
export class OpenRate {
  #meanSeconds = 0.01

  /** @param seconds that an open has taken, without its wait for others */
  opened(seconds: number): void {
    this.#meanSeconds += share * (seconds - this.#meanSeconds)
  }

  get perSecond(): number {
    const measured = parallelOpens / Math.max(this.#meanSeconds, 0.001)
    return Math.min(fastestPerSecond, Math.max(slowestPerSecond, measured / 2))
  }

  /** The time that one more open waits for those before it, milliseconds. */
  waitMs(waiting: number): number {
    return (waiting / parallelOpens) * this.#meanSeconds * 1_000
  }

  /** The time after which one of some clients comes back when all of them are closed, milliseconds. */
  anyReturnTime(clients: number): number {
    return Math.round(restartMs + Math.random() * (clients / this.perSecond) * 1_000)
  }

  /** Yields the times after which clients come back, in random order, milliseconds. */
  *returnTimes(clients: number): Generator<number, void> {
    const intervalMs = 1_000 / this.perSecond
    const places = Array.from({ length: clients }, (_, place) => place)
    for (let left = clients; left > 0; left--) {
      const chosen = Math.floor(Math.random() * left)
      const place = places[chosen] as number
      places[chosen] = places[left - 1] as number
      yield Math.round(restartMs + place * intervalMs)
    }
  }
}
