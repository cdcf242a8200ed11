import type { Clock } from '../ports/clock.js'

/** The longest time of a timer; a longer one would fire at once. */
const maxTimerMs = 2 ** 31 - 1

/** The clock of the platform. */
export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  random: () => Math.random(),
  after(ms, run) {
    const timer = setTimeout(run, Math.min(ms, maxTimerMs))
    return () => clearTimeout(timer)
  },
}
