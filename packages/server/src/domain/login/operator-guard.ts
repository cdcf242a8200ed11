import { boundedCache } from '../../lib/limits/bounded-cache.js'
import { hashToken } from '../../lib/secrets/tokens.js'
import type { LoginGuard } from './login-guard.js'

interface OperatorGuardOptions {
  /** A separate guard, so that users who mistype passwords do not delay the operator. */
  readonly guard: LoginGuard
  isOperatorToken(token: string): Promise<boolean>
}

const maxKnown = 1_000

/**
 * Slows down callers that guess operator tokens, by address, as with passwords (rule D2). A token
 * that was valid at its last check never waits for the attempts of others.
 */
export class OperatorGuard {
  /** Hashes of tokens. */
  readonly #valid = boundedCache<string, true>(maxKnown)

  constructor(private readonly options: OperatorGuardOptions) {}

  /** @throws AppError too_many_requests with the time to wait */
  async isOperatorToken(token: string, address: string): Promise<boolean> {
    const { guard, isOperatorToken } = this.options
    const key = hashToken(token)
    if (this.#valid.has(key)) {
      if (await isOperatorToken(token)) return true
      this.#valid.delete(key)
    }
    const attempt = { appId: '', userId: null, address }
    const isRight = await guard.verify(attempt, () => isOperatorToken(token))
    if (isRight) this.#valid.set(key, true)
    return isRight
  }
}
