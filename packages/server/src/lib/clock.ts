/** The source of time for rules; tests set it. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 24 * hourMs

/** The end of a validity of some days that starts now, milliseconds since 1970. */
export function runsOutAt(now: number, days: number): number {
  return now + days * dayMs
}

export const systemClock: Clock = { now: () => Date.now() }
