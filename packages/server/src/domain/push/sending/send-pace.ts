import { setTimeout as delay } from 'node:timers/promises'
import type { BackgroundPause } from '../../../lib/limits/background-pause.js'
import type { TaskExpander } from '../audience/task-expander.js'

/** When batches are opened, and how many deliveries are sent at once. */
export interface SendPace {
  /** Waits until a batch may be opened. @throws when it is aborted */
  begin(signal: AbortSignal): Promise<void>
  /** Waits until the next ones may be sent. @returns how many. @throws when it is aborted */
  next(signal: AbortSignal): Promise<number>
}

/** As many as there are. */
export const fullSpeed: SendPace = {
  begin: async () => {},
  next: async () => Number.POSITIVE_INFINITY,
}

/** As many as a gateway is asked about in one turn of the event loop. */
const deliveriesBesideMessages = 16

/**
 * The pace of audiences. While the node looks through one they wait. Afterwards it is as many as leave the event loop free for messages half
 * of the time, and all where none are sent.
 */
export class AudiencePace implements SendPace {
  #last: Promise<unknown> = Promise.resolve()

  /** @param pause counts messages */
  constructor(
    private readonly expander: Pick<TaskExpander, 'idle'>,
    private readonly pause: Pick<BackgroundPause, 'next'>,
  ) {}

  begin(signal: AbortSignal): Promise<void> {
    return this.expander.idle(signal)
  }

  next(signal: AbortSignal): Promise<number> {
    const turn = this.#last.then(() => this.#turn(signal))
    this.#last = turn.catch(() => {})
    return turn
  }

  async #turn(signal: AbortSignal): Promise<number> {
    await this.expander.idle(signal)
    const pauseMs = this.pause.next()
    if (pauseMs === null) return Number.POSITIVE_INFINITY
    await delay(pauseMs, undefined, { signal })
    return deliveriesBesideMessages
  }
}
