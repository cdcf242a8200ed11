import { randomBytes } from 'node:crypto'

/** Access tokens that a gateway has issued and still accepts. */
export class AccessTokens {
  readonly #tokens = new Map<string, number>()
  #issued = 0

  /** @param lifeMs lifetime of each token */
  constructor(
    public lifeMs: number,
    private readonly now: () => number,
  ) {}

  /** Number of issued tokens. */
  get issued(): number {
    return this.#issued
  }

  issue(): string {
    const token = randomBytes(24).toString('base64url')
    this.#tokens.set(token, this.now() + this.lifeMs)
    this.#issued++
    return token
  }

  accepts(token: string): boolean {
    return this.now() < (this.#tokens.get(token) ?? 0)
  }

  /** Revokes all tokens issued so far. */
  revokeAll(): void {
    this.#tokens.clear()
  }
}
