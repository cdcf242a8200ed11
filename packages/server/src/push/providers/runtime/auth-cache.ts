import type { Clock } from '../../../lib/clock.js'
import type { Refusal } from '../../sender.js'

/** What a gateway is shown to prove who sends. */
export interface GatewayToken {
  readonly value: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  /** Milliseconds since 1970: from then on another one is asked for. */
  readonly refreshAt: number
}

/** Gets a token; `refused` is the one that the gateway took no longer, if any. */
export type IssueToken = (refused: GatewayToken | null) => Promise<GatewayToken | Refusal>

/** One token for all who send with the same credentials; callers that need one wait for one call. */
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

  /** The gateway did not take this token; does nothing when there is a newer one already. */
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

/** Tells a token from the refusal of one. */
export function isIssued(result: GatewayToken | Refusal): result is GatewayToken {
  return 'value' in result
}
