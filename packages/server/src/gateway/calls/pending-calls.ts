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
}
