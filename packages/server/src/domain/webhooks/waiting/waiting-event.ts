import type { LoggedEvent } from '../../events/logged-event.js'
import type { EndpointKey } from '../endpoints/endpoint-model.js'

/** The place of an event in the log, which identifies it. */
export type EventPosition = Pick<LoggedEvent, 'position' | 'place'>

/** An event that waits in the database for another attempt; its content is read at the attempt. */
export interface WaitingEvent extends EventPosition {
  readonly key: string
  /** Attempts that were not forced; 0: it joined an earlier event of its key. */
  readonly attempts: number
  /** Milliseconds since 1970; 0: when the earlier events of its key are delivered; or {@link forced}. */
  readonly nextAt: number
  /** The last pause that the receiver requested; known to this process only. */
  readonly retryAfter?: RetryAfter | undefined
}

/** The time of an attempt that an operator requested, by a replay or an update. It does not count. */
export const forced = 1

/** A pause that a receiver requested with Retry-After, ms. */
export interface RetryAfter {
  readonly statedMs: number
  /** Longer, when the receiver stated the same again. */
  readonly pauseMs: number
}

/** A failed attempt for one event, as its row has it. */
export interface FailedAttempt extends Pick<WaitingEvent, 'attempts' | 'nextAt' | 'retryAfter'> {
  /** True: there is no further attempt. */
  readonly isDead: boolean
  /** 0 = no answer. */
  readonly status: number
  readonly error: string
}

/** The attempt of an event that joins an earlier one of its key. */
export const joinedAttempt: FailedAttempt = {
  attempts: 0,
  nextAt: 0,
  isDead: false,
  status: 0,
  error: '',
}

/** The attempt of an event that a replay sends again. */
export const replayed: FailedAttempt = { ...joinedAttempt, nextAt: forced }

/** An event that waits, or is dead, as it is stored. */
export interface StoredEvent extends EndpointKey, Omit<LoggedEvent, 'id' | 'appId' | 'payload'> {
  /** JSON; of a message only its place in the log of its conversation. */
  readonly payload: string
}

/** Waiting events of an endpoint, at most. */
export const maxWaiting = 10_000
/** Places among them that new events leave to a replay. */
export const rowsForReplay = 2_000

/** Returns the place of an event that waits after an attempt. */
export function waitingEvent(
  { key, position, place }: EventPosition & { readonly key: string },
  { attempts, nextAt, retryAfter }: FailedAttempt,
): WaitingEvent {
  return { key, position, place, attempts, nextAt, retryAfter }
}
