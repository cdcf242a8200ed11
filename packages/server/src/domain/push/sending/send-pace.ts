import { setTimeout as delay } from 'node:timers/promises'
import type { BackgroundPause } from '../../../lib/limits/background-pause.js'
import type { TaskExpander } from '../audience/task-expander.js'

/** How many deliveries are sent at once. */
export interface SendPace {
  /** Waits until the next ones may be sent. @returns how many. @throws when it is aborted */
  next(signal: AbortSignal): Promise<number>
}

/** As many as there are. */
export const unhurried: SendPace = { next: async () => Number.POSITIVE_INFINITY }

const whileExpanding = { pauseMs: 100, deliveries: 8 }
/** As many as a gateway is asked about in one turn of the event loop. */
const deliveriesBesideMessages = 16

/**
 * The pace of audiences. While the node looks through one, which has precedence, a few deliveries of all batches together are sent after
 * each pause. Afterwards it is as many as leave the event loop free for messages half of the time, and all where none are sent.
 */
export class AudiencePace implements SendPace {
  #last: Promise<unknown> = Promise.resolve()

  /** @param pause counts messages */
  constructor(
    private readonly expander: Pick<TaskExpander, 'idle'>,
    private readonly pause: Pick<BackgroundPause, 'next'>,
  ) {}

  next(signal: AbortSignal): Promise<number> {
    const turn = this.#last.then(() => this.#turn(signal))
    this.#last = turn.catch(() => {})
    return turn
  }

  async #turn(signal: AbortSignal): Promise<number> {
    if (!(await this.expander.idle(whileExpanding.pauseMs, signal)))
      return whileExpanding.deliveries
    const pauseMs = this.pause.next()
    if (pauseMs === null) return Number.POSITIVE_INFINITY
    await delay(pauseMs, undefined, { signal })
    return deliveriesBesideMessages
  }
}
