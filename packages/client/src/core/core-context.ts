import type { BatchBuilder } from './batch-builder.js'
import type { Effect } from './effects.js'
import type { Answer } from './inputs.js'
import type { Failure } from '../errors.js'
import type { LiveState } from './live-state.js'

/** The outcome of a call; `lost`: the session ended before, so it may have run if it was sent. */
export type CallOutcome =
  | { readonly type: 'answer'; readonly answer: Answer }
  | { readonly type: 'failure'; readonly failure: Failure }
  | { readonly type: 'lost'; readonly isSent: boolean }

/** The user and group that a call acts for. */
export interface ActingFor {
  readonly userId?: number | undefined
  readonly groupId?: number | undefined
}

/** The core, as its parts see it. It lives as long as the client leads. */
export interface CoreContext {
  /** The time of the current input, milliseconds that only grow. */
  readonly now: number
  /** The latest that the server's time can be, milliseconds since 1970; 0 before the first session. */
  readonly serverTime: number
  /** The earliest that it can be: before that by the time that session.open took. */
  readonly earliestServerTime: number
  /** The user of the client; 0: not known yet. */
  readonly me: number
  /** True between the answer to session.open and the end of that connection. */
  readonly isOpen: boolean
  /** The changes that are not in the store yet. */
  readonly batch: BatchBuilder
  emit(effect: Effect): void
  /** Returns a random number: at least 0, below 1. */
  readonly random: () => number
  /** Runs once after a time; another timer of the same key replaces it. */
  after(key: string, ms: number, run: () => void): void
  cancel(key: string): void
  /** Tests for a timer that has not run. */
  isTimed(key: string): boolean
  /** Runs when everything that is in the batch now is in the store; never before this returns. */
  afterCommit(run: () => void): void
  /**
   * Calls an operation. `done` runs once, never before `call` returns. Without an open session, and
   * when the connection ends first, the outcome is `lost`. Calls wait here while max_in_flight of
   * them are unanswered, and after an answer `too_many_requests`.
   * @returns cancels the call: `done` does not run any more
   */
  call(
    op: string,
    data: object,
    done: (outcome: CallOutcome) => void,
    options?: ActingFor,
  ): () => void
  /** Says whether everything that was missed is stored: the connection is `online`, else `syncing`. */
  setSynced(isSynced: boolean): void
  /** Drops everything but unsent messages: in the batch, and in all parts. */
  reset(): void
  /** Changes what is shown and not stored. */
  setLive(changes: Partial<LiveState>): void
  readonly live: LiveState
}
