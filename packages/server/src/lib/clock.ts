/** Where rules get the time from, so that tests can set it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

export const minuteMs = 60_000
export const dayMs = 24 * 3_600_000

/** When something that is made now and good for so many days runs out, ms. */
export function runsOutAt(now: number, days: number): number {
  return now + days * dayMs
}

export const systemClock: Clock = { now: () => Date.now() }
