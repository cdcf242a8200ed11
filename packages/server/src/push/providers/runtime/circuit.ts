import type { Clock } from '../../../lib/clock.js'
import type { PushOutcome } from '../../sender.js'

/** Conditions that open a circuit, and how long it stays open. */
export interface CircuitLimits {
  /** Pause after the gateway refused the credentials or the set-up. */
  readonly configPauseMs: number
  /** Consecutive failed requests after which the gateway counts as down. */
  readonly failuresToOpen: number
  /** Pause after a gateway is found to be down. */
  readonly outagePauseMs: number
}

/**
 * State of the circuit for one request. `half_open`: it is the single probe that tests the gateway.
 */
export type CircuitState = { readonly kind: 'closed' | 'half_open' } | OpenCircuit

export interface OpenCircuit {
  readonly kind: 'open'
  readonly cause: 'config' | 'outage'
  readonly reason: string
  readonly retryAfterMs: number
}

/**
 * Circuit breaker. Opens after a `config` outcome or after consecutive failures. After the pause it
 * admits a single probe; its outcome closes it or opens it again.
 */
export class CircuitBreaker {
  #failures = 0
  #opened: { cause: OpenCircuit['cause']; reason: string; until: number } | null = null
  #isProbing = false

  constructor(
    private readonly limits: CircuitLimits,
    private readonly clock: Clock,
  ) {}

  /** Returns the open state; null when {@link enter} would admit a request. */
  openState(): OpenCircuit | null {
    if (this.#opened === null) return null
    const { cause, reason, until } = this.#opened
    const left = until - this.clock.now()
    if (left <= 0 && !this.#isProbing) return null
    return { kind: 'open', cause, reason, retryAfterMs: Math.max(left, 1000) }
  }

  /** Admits a request unless the circuit is open. Each admitted request ends with {@link leave}. */
  enter(): CircuitState {
    const open = this.openState()
    if (open) return open
    if (this.#opened === null) return { kind: 'closed' }
    this.#isProbing = true
    return { kind: 'half_open' }
  }

  /** @param outcomes of one request; [] when it could not be sent */
  leave(state: CircuitState, outcomes: readonly PushOutcome[]): void {
    const isProbe = state.kind === 'half_open'
    if (isProbe) this.#isProbing = false
    const failure = outcomes.find(isFailure)
    if (failure === undefined || !outcomes.every(isFailure)) {
      if (outcomes.length > 0) this.#close()
      return
    }
    this.#failures++
    const cause = failure.kind === 'config' ? 'config' : 'outage'
    if (cause === 'config' || isProbe || this.#failures >= this.limits.failuresToOpen)
      this.#open(cause, 'reason' in failure ? failure.reason : '')
  }

  #open(cause: OpenCircuit['cause'], reason: string): void {
    const { configPauseMs, outagePauseMs } = this.limits
    const pauseMs = cause === 'config' ? configPauseMs : outagePauseMs
    this.#opened = { cause, reason, until: this.clock.now() + pauseMs }
  }

  #close(): void {
    this.#failures = 0
    this.#opened = null
  }
}

function isFailure(outcome: PushOutcome): boolean {
  if (outcome.kind === 'config') return outcome.isOfDevice !== true
  return outcome.kind === 'network' || outcome.kind === 'server_error'
}
