import type { Clock } from '../../../lib/clock.js'
import type { Delayed, NetworkFailure, PushOutcome, SetUpRefused } from '../../outcomes.js'

/** Conditions that open a circuit, and how long it stays open. */
export interface CircuitLimits {
  /** Pause after the gateway refused the credentials or the set-up. */
  readonly configPauseMs: number
  /** Devices in a row with a refused set-up that are no longer an exception. */
  readonly refusalsToOpen: number
  /** Consecutive failed requests after which the gateway counts as down. */
  readonly failuresToOpen: number
  /** Pause after a gateway is found to be down. */
  readonly outagePauseMs: number
}

/**
 * State of the circuit for one request. `half_open`: it is the single probe that tests the gateway.
 */
export type CircuitState = { readonly kind: 'closed' | 'half_open' } | OpenCircuit

/** The result of a send that the breaker refuses without a request. */
export interface OpenCircuit {
  readonly kind: 'open'
  readonly cause: 'config' | 'outage'
  readonly reason: string
  readonly retryAfterMs: number
}

/**
 * Circuit breaker. Opens after an answer about the credentials, after other `config` outcomes of
 * devices in a row, or after consecutive failures: the token of one device stops no other. After the
 * pause it admits a single probe; its outcome closes it or opens it again.
 */
export class CircuitBreaker {
  #failures = 0
  /** Tokens of devices in a row with a refused set-up. */
  readonly #refused = new Set<string>()
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

  /**
   * @param outcomes of one request; [] when it could not be sent
   * @param tokens of the devices, in the order of their outcomes
   */
  leave(state: CircuitState, outcomes: readonly PushOutcome[], tokens: readonly string[]): void {
    const isProbe = state.kind === 'half_open'
    if (isProbe) this.#isProbing = false
    if (outcomes.length === 0) return
    for (const [index, outcome] of outcomes.entries()) {
      if (!isSetUpRefusal(outcome)) this.#refused.clear()
      // The refusal of a whole list counts once.
      else if (outcome !== outcomes[index - 1]) this.#refused.add(tokens[index] ?? '')
    }
    const refusal = outcomes.find(isSetUpRefusal)
    if (!outcomes.every(isFailure)) this.#close()
    else if (refusal) this.#openIfGeneral(refusal, isProbe)
    else if (++this.#failures >= this.limits.failuresToOpen || isProbe)
      this.#open('outage', outcomes.find(isOutage)?.reason ?? '')
  }

  #openIfGeneral({ reason, isOfCredentials }: SetUpRefused, isProbe: boolean): void {
    const isRepeated = isProbe && this.#opened?.cause === 'config'
    if (isOfCredentials || isRepeated || this.#refused.size >= this.limits.refusalsToOpen)
      this.#open('config', reason)
    else this.#close()
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
  return isSetUpRefusal(outcome) || isOutage(outcome)
}

function isSetUpRefusal(outcome: PushOutcome): outcome is SetUpRefused {
  return outcome.kind === 'config' && outcome.isOfPush !== true
}

function isOutage(outcome: PushOutcome): outcome is NetworkFailure | Delayed {
  return outcome.kind === 'network' || outcome.kind === 'server_error'
}
