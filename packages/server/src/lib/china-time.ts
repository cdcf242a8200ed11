/** Times of day in China, in which handset vendors count their days. */
import { dayMs } from './clock.js'

const hourMs = 3_600_000
const chinaOffsetMs = 8 * hourMs

/** The next midnight of UTC+8, when daily quotas start again; milliseconds since 1970. */
export function quotaEnd(now: number): number {
  return nextTimeOfDay(now, 0)
}

/** The next full hour of UTC+8; milliseconds since 1970. */
export function nextTimeOfDay(now: number, hour: number): number {
  const local = now + chinaOffsetMs - hour * hourMs
  return (Math.floor(local / dayMs) + 1) * dayMs - chinaOffsetMs + hour * hourMs
}
