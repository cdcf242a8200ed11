import { randomBytes } from 'node:crypto'

/** Access tokens that a gateway has issued and still takes. */
export class AccessTokens {
  readonly #tokens = new Map<string, number>()
  #issued = 0

  /** @param lifeMs how long each is taken */
  constructor(
    public lifeMs: number,
    private readonly now: () => number,
  ) {}

  /** How many there were so far. */
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

  /** All that were issued so far are taken no longer. */
  revokeAll(): void {
    this.#tokens.clear()
  }
}
