import type { Int64 } from '@hermod/protocol'
import type { TransientEvent } from '@hermod/protocol/events'
import type { Conversation } from '../model/conversation-model.js'

/** The state of a typing signal. */
export type TypingState = (TransientEvent & { readonly kind: 'typing' })['data']['state']

export interface SignalsOptions<State> {
  /** Sends the state to the others of the conversation. */
  readonly send: (conversation: Conversation, userId: Int64, state: State) => void
  /** Tests whether two states are the same; by default whether they are one value. */
  readonly isSame?: (a: State, b: State) => boolean
  /** Milliseconds of a clock that never goes back. */
  readonly now?: () => number
  /** Runs work later. */
  readonly later?: (ms: number, run: () => void) => void
}

interface SentSignal<State> {
  readonly conversation: Conversation
  readonly userId: Int64
  readonly at: number
  readonly state: State
  /** The newest state since then, sent when the time is over; null: the same. */
  next: State | null
}

/** The time between two signals of a user in a conversation. */
const pauseMs = 1_000
/** Users who signal at once. Beyond it signals are dropped. */
const maxSignals = 100_000

/**
 * Sends states of users, such as typing signals, at most one a second for a user and conversation.
 * The newest state of a second is sent at its end.
 */
export class Signals<State> {
  /** In the order in which they were sent. */
  readonly #sent = new Map<string, SentSignal<State>>()
  readonly #now: () => number
  readonly #isSame: (a: State, b: State) => boolean
  #isWaiting = false

  constructor(private readonly options: SignalsOptions<State>) {
    this.#isSame = options.isSame ?? ((a, b) => a === b)
    this.#now = options.now ?? (() => performance.now())
  }

  signal(conversation: Conversation, userId: Int64, state: State): void {
    this.#forgetOld()
    const { appId, lowId, highId } = conversation
    const name = `${appId}/${lowId}/${highId}/${userId}`
    const sent = this.#sent.get(name)
    if (sent) sent.next = this.#isSame(sent.state, state) ? null : state
    else if (this.#sent.size < maxSignals) this.#send(name, { conversation, userId, state })
  }

  #send(name: string, signal: Pick<SentSignal<State>, 'conversation' | 'userId' | 'state'>): void {
    const { conversation, userId, state } = signal
    this.#sent.set(name, { ...signal, at: this.#now(), next: null })
    this.options.send(conversation, userId, state)
    this.#wait()
  }

  /** Ends the second of signals that are old enough, and sends the states that have changed since. */
  #forgetOld(): void {
    const before = this.#now() - pauseMs
    for (const [name, { conversation, userId, at, next }] of this.#sent) {
      if (at > before) return
      this.#sent.delete(name)
      if (next !== null) this.#send(name, { conversation, userId, state: next })
    }
  }

  #wait(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    const { later = laterMs } = this.options
    later(pauseMs, () => {
      this.#isWaiting = false
      this.#forgetOld()
      if (this.#sent.size > 0) this.#wait()
    })
  }
}

function laterMs(ms: number, run: () => void): void {
  setTimeout(run, ms).unref()
}
