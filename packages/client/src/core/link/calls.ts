import {
  type Failure,
  type FailureName,
  type StreamPosition,
  badAnswer,
  failureOf,
} from '../../errors.js'
import type { ActingFor, CallOutcome } from '../core-context.js'
import type { OpenedSession } from '../part.js'
import { bytesOf } from './wire-text.js'

/** Calls that wait for their turn. */
export const maxWaitingCalls = 1_000
/** Time for the answer to a call that was sent. */
export const callLimitMs = 30_000
/** The longest wait after `too_many_requests` that this part takes over. */
export const maxCallPauseMs = 30_000
/** Repeats of a call that the server has refused as `too_many_requests`. */
const maxRepeats = 5
const tooManyRequests = 42_900
/** Calls that a refusal of other calls does not hold back. */
const sends = /^message\.(send|recall)$/

/** The core, as Calls sees it. */
export interface CallsHost {
  readonly now: number
  /** Runs after the current work, in the same step. */
  later(run: () => void): void
  after(key: string, ms: number, run: () => void): void
  cancel(key: string): void
  send(text: string): void
  /** A call was not answered in time. */
  unanswered(): void
}

interface QueuedCall {
  readonly isSend: boolean
  readonly members: object
  readonly done: (outcome: CallOutcome) => void
  repeats: number
}

/** The frame of an answer. */
export interface AnswerMembers {
  readonly [member: string]: unknown
}

/** The calls of a session: numbers them, bounds them, and gives each one outcome. */
export class Calls {
  readonly #host: CallsHost
  #waiting: QueuedCall[] = []
  /** By number. */
  readonly #inFlight = new Map<number, QueuedCall>()
  #lastId = 0
  #isOpen = false
  #maxInFlight = 1
  #maxFrame = 0
  #pausedUntil = 0
  #sendsPausedUntil = 0

  constructor(host: CallsHost) {
    this.#host = host
  }

  opened({ max_in_flight: maxInFlight, max_frame: maxFrame }: OpenedSession): void {
    this.#isOpen = true
    this.#maxInFlight = limitOf(maxInFlight, 16, 64)
    this.#maxFrame = limitOf(maxFrame, 65_536, 2 ** 30)
    this.#pausedUntil = 0
    this.#sendsPausedUntil = 0
  }

  closed(): void {
    this.#isOpen = false
    this.#host.cancel('calls.pause')
    for (const [id, call] of this.#inFlight) {
      this.#take(id)
      this.#finish(call, { type: 'lost', isSent: true })
    }
    for (const call of this.#waiting.splice(0)) this.#finish(call, { type: 'lost', isSent: false })
  }

  /** @returns cancels the call */
  call(
    op: string,
    data: object,
    done: (outcome: CallOutcome) => void,
    { userId, groupId }: ActingFor = {},
  ): () => void {
    let isCancelled = false
    const call: QueuedCall = {
      isSend: sends.test(op),
      members: { op, data, user_id: userId, group_id: groupId },
      done: (outcome) => {
        if (!isCancelled) done(outcome)
      },
      repeats: 0,
    }
    if (!this.#isOpen) this.#finish(call, { type: 'lost', isSent: false })
    else if (this.#waiting.length >= maxWaitingCalls)
      this.#fail(call, failureOf('too_many_calls', `${maxWaitingCalls} calls wait`, true))
    else {
      this.#waiting.push(call)
      this.#sendWaiting()
    }
    return () => {
      isCancelled = true
      this.#waiting = this.#waiting.filter((each) => each !== call)
    }
  }

  /** Takes an answer; one to no call is ignored. */
  answer(frame: AnswerMembers): void {
    const id = frame.id as number
    const call = this.#take(id)
    if (!call) return
    const failure = failureIn(frame)
    if (!failure) {
      const { id: _id, code: _code, message: _message, data, ...extras } = frame
      this.#finish(call, { type: 'answer', answer: { ...extras, data } })
    } else if (!this.#isRepeated(call, failure)) this.#fail(call, failure)
    this.#sendWaiting()
  }

  /** A call that has not run is sent again, when the server takes more. Only a send pauses sends. */
  #isRepeated(call: QueuedCall, { code, retryAfterMs = 1_000 }: Failure): boolean {
    if (code !== tooManyRequests || retryAfterMs > maxCallPauseMs || call.repeats >= maxRepeats)
      return false
    call.repeats++
    this.#waiting.unshift(call)
    const until = this.#host.now + retryAfterMs
    this.#pausedUntil = Math.max(this.#pausedUntil, until)
    if (call.isSend) this.#sendsPausedUntil = Math.max(this.#sendsPausedUntil, until)
    return true
  }

  #sendWaiting(): void {
    while (this.#inFlight.size < this.#maxInFlight) {
      const index = this.#waiting.findIndex((call) => this.#pauseMs(call) <= 0)
      const [call] = index < 0 ? [] : this.#waiting.splice(index, 1)
      if (!call) break
      this.#send(call)
    }
    const ms = Math.min(...this.#waiting.map((call) => this.#pauseMs(call)))
    if (ms > 0 && ms < Infinity) this.#host.after('calls.pause', ms, () => this.#sendWaiting())
  }

  #pauseMs({ isSend }: QueuedCall): number {
    return (isSend ? this.#sendsPausedUntil : this.#pausedUntil) - this.#host.now
  }

  #send(call: QueuedCall): void {
    const id = this.#lastId + 1
    let text: string
    try {
      text = JSON.stringify({ id, ...call.members })
    } catch (error) {
      this.#fail(call, failureOf('invalid_argument', `the call is not JSON: ${error}`))
      return
    }
    if (bytesOf(text) > this.#maxFrame) {
      const message = `the call has more than ${this.#maxFrame} bytes`
      this.#fail(call, failureOf('invalid_argument', message))
      return
    }
    this.#lastId = id
    this.#inFlight.set(id, call)
    this.#host.send(text)
    this.#host.after(limitTimer(id), callLimitMs, () => {
      // Not lost: the session may live on, and what waits for its end would wait for ever.
      if (this.#take(id)) this.#fail(call, unanswered)
      this.#host.unanswered()
      this.#sendWaiting()
    })
  }

  /** Takes a call out of those in flight. */
  #take(id: number): QueuedCall | undefined {
    const call = this.#inFlight.get(id)
    this.#inFlight.delete(id)
    this.#host.cancel(limitTimer(id))
    return call
  }

  #fail(call: QueuedCall, failure: Failure): void {
    this.#finish(call, { type: 'failure', failure })
  }

  #finish(call: QueuedCall, outcome: CallOutcome): void {
    this.#host.later(() => call.done(outcome))
  }
}

/** Returns a limit of the server; for nonsense the default. */
export function limitOf(value: unknown, otherwise: number, max: number): number {
  return typeof value === 'number' && value >= 1 ? Math.min(Math.floor(value), max) : otherwise
}

/** Returns the failure of an answer, undefined for one of success. */
export function failureIn(frame: AnswerMembers): Failure | undefined {
  const { code, name, message, retry, retry_after_ms: retryAfterMs } = frame
  const { next_index: nextIndex, state } = frame
  if (code === 200) return undefined
  if (!Number.isSafeInteger(code)) return badAnswer('a call')
  return {
    code: code as number,
    name: typeof name === 'string' ? (name as FailureName) : 'refused',
    message: typeof message === 'string' ? message : '',
    retry: retry === true,
    ...(typeof retryAfterMs === 'number' && { retryAfterMs }),
    ...(typeof nextIndex === 'number' && {
      stream: { nextIndex, state: state as StreamPosition['state'] },
    }),
  }
}

/** The failure of a call that was sent. */
export const unanswered = failureOf('not_connected', 'no answer came; the call may have run', true)
const limitTimer = (id: number) => `call ${id}`
