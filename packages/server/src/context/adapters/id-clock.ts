import { AppError } from '@hermod/protocol'
import { type Clock, minuteMs } from '../../lib/clock.js'
import { epochMs } from '../../lib/ids/ids.js'
import type { Logger } from '../../observability/log.js'

/** IDs end in September 2084. */
const endMs = Date.UTC(2080, 0, 1)
const farAheadMs = 5 * minuteMs

/**
 * The clock that IDs are issued by. It refuses times at which a clock is surely wrong, before IDs
 * are reserved for them (rule E3).
 */
export class IdClock implements Clock {
  #isRefused = false

  constructor(
    private readonly clock: Clock,
    private readonly log: Logger,
  ) {}

  /** @throws AppError unavailable before 2015 and from 2080 on */
  now(): number {
    const now = this.clock.now()
    const refusal = clockRefusal(now)
    if (refusal !== null) this.#refuse(refusal)
    this.#isRefused = false
    return now
  }

  /** @returns the reason why no IDs are issued; null while they are */
  refusal(): string | null {
    return clockRefusal(this.clock.now())
  }

  /**
   * Warns at the start when IDs are reserved for times to come.
   * @param newestMs the last of them, null for none
   */
  reportLead(newestMs: number | null): void {
    const leadMs = newestMs === null ? 0 : newestMs - this.clock.now()
    if (leadMs > farAheadMs)
      this.log.warn(
        { seconds: Math.round(leadMs / 1_000) },
        'IDs are ahead of the clock of this machine: the clock is wrong, or was when they were issued',
      )
  }

  #refuse(reason: string): never {
    if (!this.#isRefused)
      this.log.error({ reason }, 'nothing can be written until the clock is set')
    this.#isRefused = true
    throw new AppError('unavailable', reason)
  }
}

function clockRefusal(now: number): string | null {
  if (now >= epochMs && now < endMs) return null
  const date = new Date(now)
  const time = Number.isNaN(date.getTime()) ? `${now} ms` : date.toISOString()
  return `the clock of the machine says ${time}; it must be from 2015 to 2079`
}
