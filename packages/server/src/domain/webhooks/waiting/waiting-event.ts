import type { LoggedEvent } from '../../events/logged-event.js'
import type { EndpointKey } from '../endpoints/endpoint-model.js'

/** The place of an event in the log, which identifies it. */
export type EventPlace = Pick<LoggedEvent, 'position' | 'place'>

/** An event that waits in the database for another attempt; its content is read at the attempt. */
export interface WaitingPlace extends EventPlace {
  readonly key: string
  /** 0: it joined an earlier event of its key. */
  readonly attempts: number
  /** Milliseconds since 1970; 0: when the earlier events of its key are delivered. */
  readonly nextAt: number
}

/** A failed attempt for one event, as its row has it. */
export interface FailedAttempt extends Pick<WaitingPlace, 'attempts' | 'nextAt'> {
  /** True: there is no further attempt. */
  readonly isDead: boolean
  /** 0 = no answer. */
  readonly status: number
  readonly error: string
}

/** The attempt of an event that joins an earlier one of its key. */
export const joined: FailedAttempt = {
  attempts: 0,
  nextAt: 0,
  isDead: false,
  status: 0,
  error: '',
}

/** An event that waits, or is dead, as it is stored. */
export interface StoredEvent extends EndpointKey, Omit<LoggedEvent, 'appId' | 'payload'> {
  /** JSON; of a message only its place in the log of its conversation. */
  readonly payload: string
}

/** An endpoint with more waiting events gets no others. */
export const maxWaiting = 10_000

/** Returns the place of an event that waits after an attempt. */
export function waitingPlace(
  { key, position, place }: EventPlace & { readonly key: string },
  { attempts, nextAt }: FailedAttempt,
): WaitingPlace {
  return { key, position, place, attempts, nextAt }
}
