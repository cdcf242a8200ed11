import type { Clock } from '../../../lib/clock.js'
import type { Refusal } from '../../sender.js'

/** What a gateway is shown to prove who sends. */
export interface IssuedToken {
  readonly value: string
  /** Milliseconds since 1970. */
  readonly issuedAt: number
  /** Milliseconds since 1970: from then on another one is asked for. */
  readonly refreshAt: number
}

/** Gets a token; `refused` is the one that the gateway took no longer, if any. */
export type IssueToken = (refused: IssuedToken | null) => Promise<IssuedToken | Refusal>

/** One token for all who send with the same credentials; callers that need one wait for one call. */
export class AuthCache {
  #token: IssuedToken | null = null
  #refused: IssuedToken | null = null
  #issuing: Promise<IssuedToken | Refusal> | null = null

  constructor(
    private readonly issue: IssueToken,
    private readonly clock: Clock,
  ) {}

  async get(): Promise<IssuedToken | Refusal> {
    if (this.#token && this.clock.now() < this.#token.refreshAt) return this.#token
    this.#issuing ??= this.#renew().finally(() => {
      this.#issuing = null
    })
    return this.#issuing
  }

  /** The gateway did not take this token; does nothing when there is a newer one already. */
  drop(token: IssuedToken): void {
    if (this.#token?.value !== token.value) return
    this.#token = null
    this.#refused = token
  }

  async #renew(): Promise<IssuedToken | Refusal> {
    const result = await this.issue(this.#refused)
    if (isIssued(result)) {
      this.#token = result
      this.#refused = null
    }
    return result
  }
}

/** Tells a token from the refusal of one. */
export function isIssued(result: IssuedToken | Refusal): result is IssuedToken {
  return 'value' in result
}
