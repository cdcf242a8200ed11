/** Time and random numbers of the client. */
export interface Clock {
  /** Milliseconds that only grow, also while the machine sleeps where the platform allows it. */
  now(): number
  /** Milliseconds since 1970 by the machine, which may jump: only shown. */
  wallTime(): number
  /** @returns cancels the timer */
  after(ms: number, run: () => void): () => void
  /** At least 0, below 1. */
  random(): number
}
