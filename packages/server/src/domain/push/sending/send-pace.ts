import type { TaskExpander } from '../audience/task-expander.js'

/** How many deliveries are sent at once. */
export interface SendPace {
  /** Waits until the next ones may be sent. @returns how many. @throws when it is aborted */
  next(signal: AbortSignal): Promise<number>
}

/** As many as there are. */
export const unhurried: SendPace = { next: async () => Number.POSITIVE_INFINITY }

const pauseMs = 50
/** As many as a gateway is asked about in one turn of the event loop. */
const deliveriesAtOnce = 16

/**
 * The pace of audiences: while the node looks through one, which has precedence, a few deliveries of all batches together are sent after
 * each pause, and otherwise all. Nobody who sends messages notices a few; a batch at once would keep the event loop and the processor.
 */
export class AudiencePace implements SendPace {
  #last: Promise<unknown> = Promise.resolve()

  constructor(private readonly expander: Pick<TaskExpander, 'idle'>) {}

  next(signal: AbortSignal): Promise<number> {
    const turn = this.#last.then(async () =>
      (await this.expander.idle(pauseMs, signal)) ? Number.POSITIVE_INFINITY : deliveriesAtOnce,
    )
    this.#last = turn.catch(() => {})
    return turn
  }
}
