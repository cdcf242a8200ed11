import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '../../../lib/clock.js'
import type { BackgroundPause } from '../../../lib/limits/background-pause.js'
import { TokenBucket } from '../../../lib/limits/token-bucket.js'

/** A million take less than a minute, and where more could be done the rest is left to messages. */
const usersPerSecond = 17_000
/** Those of two seconds: so much of what was slow for a while, or waited for a checkpoint, is made up for. */
const burst = 34_000

/** How fast audiences are looked through while the node stores messages; where it does not, as fast as it can. */
export class ExpansionPace {
  readonly #users: TokenBucket

  /**
   * @param messages says whether there are any
   * @param afterCheckpoint waits for the end of a checkpoint, beside which messages are slower already
   */
  constructor(
    private readonly messages: Pick<BackgroundPause, 'isNeeded'>,
    clock: Clock,
    private readonly afterCheckpoint: () => Promise<void> = async () => {},
  ) {
    this.#users = new TokenBucket({ perSecond: usersPerSecond, burst }, clock)
  }

  /** Waits until it is time for so many users more. @throws when it is aborted */
  async begin(users: number, signal: AbortSignal): Promise<void> {
    if (!this.messages.isNeeded) return
    await this.afterCheckpoint()
    const restMs = this.#users.reserve(0, Number.POSITIVE_INFINITY) ?? 0
    this.#users.reserve(users, Number.POSITIVE_INFINITY)
    if (restMs > 0) await delay(restMs, undefined, { signal })
  }
}
