import type { Clock } from '@hermod/server/dist/lib/clock.js'

/** A clock that can be late, so that the history has messages of earlier days. */
export class DemoClock implements Clock {
  #lateMs = 0

  /** @param lateMs milliseconds behind the clock of the machine, from now on */
  setLate(lateMs: number): void {
    this.#lateMs = lateMs
  }

  now = (): number => Date.now() - this.#lateMs
}
