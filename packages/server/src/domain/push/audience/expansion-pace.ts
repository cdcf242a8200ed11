import { setTimeout as delay } from 'node:timers/promises'
import type { BackgroundPause } from '../../../lib/limits/background-pause.js'

/** A million take less than a minute, and where more could be done the rest is left to messages. */
const usersPerSecond = 22_000
/** What was slow for a moment is made up for at most by so much. */
const catchUpMs = 20
/** Timers are no finer. */
const shortestRestMs = 1

/** How fast audiences are looked through while the node stores messages; where it does not, as fast as it can. */
export class ExpansionPace {
  #nextAt = 0

  /** @param messages says whether there are any */
  constructor(
    private readonly messages: Pick<BackgroundPause, 'isNeeded'>,
    private readonly now = () => performance.now(),
  ) {}

  /** Waits until it is time for so many users more. @throws when it is aborted */
  async begin(users: number, signal: AbortSignal): Promise<void> {
    if (!this.messages.isNeeded) return
    const now = this.now()
    const at = Math.max(this.#nextAt, now - catchUpMs)
    this.#nextAt = at + (users / usersPerSecond) * 1_000
    if (at - now >= shortestRestMs) await delay(at - now, undefined, { signal })
  }
}
