import type { Clock } from '../../../lib/clock.js'
import type { Refusal } from '../../outcomes.js'

/** A token that proves the sender's identity to a gateway. */
export interface GatewayToken {
  readonly value: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  /** Time at which to request another token, milliseconds since 1970. */
  readonly refreshAt: number
}

/** Requests a token; `refused` is the token that the gateway last rejected, if any. */
export type IssueToken = (refused: GatewayToken | null) => Promise<GatewayToken | Refusal>

/** One token for all senders with the same credentials. Concurrent callers share one request. */
export class AuthCache {
  #token: GatewayToken | null = null
  #refused: GatewayToken | null = null
  #issuing: Promise<GatewayToken | Refusal> | null = null

  constructor(
    private readonly issue: IssueToken,
    private readonly clock: Clock,
  ) {}

  async get(): Promise<GatewayToken | Refusal> {
    if (this.#token && this.clock.now() < this.#token.refreshAt) return this.#token
    this.#issuing ??= this.#renew().finally(() => {
      this.#issuing = null
    })
    return this.#issuing
  }

  /** Drops a token that the gateway rejected. Does nothing when a newer one exists. */
  drop(token: GatewayToken): void {
    if (this.#token?.value !== token.value) return
    this.#token = null
    this.#refused = token
  }

  async #renew(): Promise<GatewayToken | Refusal> {
    const result = await this.issue(this.#refused)
    if (isIssued(result)) {
      this.#token = result
      this.#refused = null
    }
    return result
  }
}

/** Tells a token from a refusal. */
export function isIssued(result: GatewayToken | Refusal): result is GatewayToken {
  return 'value' in result
}
