import type { Int64 } from '@hermod/protocol'
import type { SendResult } from '../webhook-sender.js'
import type { LoggedEvent } from '../../events/logged-event.js'
import type { EndpointKey } from '../endpoints/endpoint-model.js'

/** A request to an endpoint, and its answer. */
export interface Attempt extends EndpointKey, SendResult {
  readonly attemptId: Int64
  /** Milliseconds since 1970. */
  readonly at: number
  readonly first: Pick<LoggedEvent, 'id' | 'kind' | 'key'>
  /** Number of events in the request. */
  readonly events: number
  /** Number of the attempt for the first event, from 1. */
  readonly attempt: number
  /** Milliseconds since 1970; 0 = none. */
  readonly nextAt: number
}

/** The number of attempts that are kept of each endpoint. */
export const keptAttempts = 1_000
