/** Times between attempts. */
import type { RetryAfter } from '../../domain/webhooks/waiting/waiting-event.js'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

/** After the attempts of one event, while other events are delivered. */
const eventDelays = [10 * second, minute, 5 * minute, 30 * minute, hour]
/** After the failures of an endpoint that is down. */
const endpointDelays = [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour]

/** An event that is refused so often is dead; the attempts take about 36 minutes. */
export const maxRefusals = 5
/** An endpoint with nothing but failures for so long is disabled. */
export const maxFailingMs = 72 * hour
/** Failures that are farther apart do not belong together. */
export const failureGapMs = 24 * hour
/** Shortest pause that a receiver can ask for. */
const minPauseMs = second
/** Longest pause. */
export const maxPauseMs = 5 * hour

/** Returns a number from 0 up to 1, not included. */
export type Random = () => number

/** Returns the pause after an attempt for one event. @param attempts those that count; 0 as 1 */
export function eventDelay(attempts: number, random: Random): number {
  return withJitter(eventDelays[Math.max(attempts, 1) - 1] ?? hour, random)
}

/**
 * Returns the pause that a receiver asks for. It doubles while the stated time does not grow.
 * @param before the pause that it requested the last time
 */
export function askedPause(statedMs: number, before: RetryAfter | undefined): RetryAfter {
  const least = Math.max(statedMs, minPauseMs)
  const isGrown = before === undefined || statedMs > before.statedMs
  const pauseMs = isGrown ? least : Math.min(Math.max(least, 2 * before.pauseMs), maxPauseMs)
  return { statedMs, pauseMs }
}

/**
 * Returns the pause of an endpoint that is down.
 * @param failures from 1
 * @param isDoubtful it has failed for fewer than three keys, so one key may be at fault
 */
export function endpointDelay(
  failures: number,
  { isDoubtful, random }: { readonly isDoubtful: boolean; readonly random: Random },
): number {
  const delay = endpointDelays[failures - 1] ?? 5 * hour
  return withJitter(isDoubtful ? Math.min(delay, 5 * minute) : delay, random)
}

/** Adds up to a tenth, so that many endpoints of one receiver are not tried together. */
function withJitter(delay: number, random: Random): number {
  return Math.round(delay * (1 + random() / 10))
}
