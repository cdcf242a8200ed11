import type { Operation } from '@hermod/protocol'
import type { ReceivedCall } from '../frames/client-frame.js'

/** A call that may begin. */
export interface ReadyCall {
  readonly frame: ReceivedCall
  readonly operation: Operation
}

/** The calls of one connection that are in progress or wait. */
export class PendingCalls {
  running = 0
  readonly waiting: ReadyCall[] = []
  #gone: AbortController | undefined

  /** Aborted when the connection closes. */
  get gone(): AbortSignal {
    this.#gone ??= new AbortController()
    return this.#gone.signal
  }

  /** The connection closes. */
  end(): void {
    this.#gone?.abort()
  }
}
