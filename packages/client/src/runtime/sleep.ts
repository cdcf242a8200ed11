const checkMs = 5_000
/** A difference between the clocks that is no correction of the time. */
const sleptMs = 5_000

/** The clocks of the platform; replaced in tests. */
export interface Clocks {
  /** Milliseconds since 1970. */
  wallTime(): number
  /** Milliseconds that some platforms do not count while the machine sleeps. */
  now(): number
  /** @returns ends the repeats */
  every(ms: number, run: () => void): () => void
}

const systemClocks: Clocks = {
  wallTime: () => Date.now(),
  now: () => performance.now(),
  every(ms, run) {
    const timer = setInterval(run, ms)
    // In Node, a check of the clocks keeps no process alive.
    if (typeof timer === 'object') (timer as { unref?: () => void }).unref?.()
    return () => clearInterval(timer)
  },
}

/**
 * Notices that the machine was asleep, or its time was set: the wall clock has moved against the other.
 * @returns ends the listening
 */
export function listenToSleep(listener: () => void, clocks: Clocks = systemClocks): () => void {
  let offset = clocks.wallTime() - clocks.now()
  return clocks.every(checkMs, () => {
    const next = clocks.wallTime() - clocks.now()
    const isAwake = Math.abs(next - offset) < sleptMs
    offset = next
    if (!isAwake) listener()
  })
}
