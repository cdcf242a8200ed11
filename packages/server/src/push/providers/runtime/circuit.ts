import type { Clock } from '../../../lib/clock.js'
import type { PushOutcome } from '../../sender.js'

/** When a circuit opens, and for how long. */
export interface CircuitLimits {
  /** How long nothing is sent after the gateway refused the credentials or the set-up. */
  readonly configPauseMs: number
  /** Requests that fail one after another before the gateway counts as down. */
  readonly failuresToOpen: number
  /** How long nothing is sent to a gateway that is down. */
  readonly outagePauseMs: number
}

/** May a request be sent? `probe`: alone, to see whether the gateway answers again. */
export type CircuitState = { readonly kind: 'closed' | 'half_open' } | OpenCircuit

export interface OpenCircuit {
  readonly kind: 'open'
  readonly cause: 'config' | 'outage'
  readonly reason: string
  readonly retryAfterMs: number
}

/**
 * Spares a gateway requests that would fail. After `config` outcomes, or an unbroken row of
 * failures, it lets nothing through for a while and then a single probe, which decides.
 */
export class CircuitBreaker {
  #failures = 0
  #opened: { cause: OpenCircuit['cause']; reason: string; until: number } | null = null
  #isProbing = false

  constructor(
    private readonly limits: CircuitLimits,
    private readonly clock: Clock,
  ) {}

  /** What stands in the way now; null: a request may go on and {@link enter}. */
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

  /** @param outcomes of one request; [] when it could not be sent at all */
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
