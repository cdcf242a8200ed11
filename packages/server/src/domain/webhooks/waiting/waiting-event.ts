import type { LoggedEvent } from '../../events/logged-event.js'
import type { EndpointKey } from '../endpoints/endpoint-model.js'

/** An event of an endpoint that waits for another attempt, or is dead. */
export interface WaitingEvent
  extends EndpointKey,
    Pick<LoggedEvent, 'kind' | 'position' | 'place' | 'name' | 'key' | 'createdAt'> {
  /** JSON; of a message only its place in the log: its texts are read at the attempt. */
  readonly payload: string
  readonly state: 'waiting' | 'dead'
  /** 0: it joined an earlier event of its key. */
  readonly attempts: number
  /** Milliseconds since 1970; 0 = when the earlier events of its key are delivered. */
  readonly nextAt: number
  /** 0 = no answer. */
  readonly lastStatus: number
  readonly lastError: string
}

/** An endpoint with more waiting events counts as down. */
export const maxWaiting = 10_000
