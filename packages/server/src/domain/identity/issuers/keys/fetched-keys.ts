import type { JSONWebKeySet } from 'jose'
import { type Clock, hourMs, minuteMs } from '../../../../lib/clock.js'
import { boundedCache } from '../../../../lib/limits/bounded-cache.js'
import type { Assertion } from '../../assertions/assertion.js'
import type { Refusal } from '../../assertions/refusals.js'
import { type KeySet, keySetOf, signatureRefusal } from '../../assertions/signature.js'

interface FetchedKeysOptions {
  /** Fetches the present set. @throws Error */
  readonly fetch: () => Promise<JSONWebKeySet>
  readonly clock: Clock
  /** Gets each failed fetch. */
  readonly failed: (error: unknown) => void
}

/** A set serves so long before it is fetched again. */
const freshMs = 10 * minuteMs
/** A set serves so long while fetching fails. */
const maxAgeMs = 24 * hourMs
/** Time between the starts of two fetches, whatever the outcome of the first. */
const betweenFetchesMs = 30_000
/** A key that a fetch did not bring is not looked for again for so long. */
const unknownMs = 5 * minuteMs
const maxUnknown = 128

/** The keys of one issuer, fetched from its address when they are needed. */
export class FetchedKeys {
  #keys: { readonly set: KeySet; readonly fetchedAt: number } | null = null
  #fetchedAt = Number.NEGATIVE_INFINITY
  #fetching: Promise<boolean> | null = null
  #problem = ''
  /** Ends of the memory, by kid; "" = none. */
  readonly #unknown = boundedCache<string, number>(maxUnknown)

  constructor(private readonly options: FetchedKeysOptions) {}

  /** The failure of the last fetch, in words; '' when it succeeded. */
  get problem(): string {
    return this.#problem
  }

  /** Checks a signature. A key that is not in the set may have been added since. */
  async signatureRefusal(
    { text, header }: Assertion,
    algorithms: readonly string[],
  ): Promise<Refusal | null> {
    if (this.#current(freshMs) === null) await this.#fetch()
    const check = async () => {
      const keys = this.#current(maxAgeMs)
      return keys === null ? 'no_keys' : signatureRefusal(text, keys, algorithms)
    }
    const refusal = await check()
    if (refusal !== 'unknown_key') return refusal
    const kid = typeof header.kid === 'string' ? header.kid : ''
    if (this.#isUnknown(kid) || !(await this.#fetch())) return refusal
    const refusalByNewKeys = await check()
    if (refusalByNewKeys === 'unknown_key')
      this.#unknown.set(kid, this.options.clock.now() + unknownMs)
    return refusalByNewKeys
  }

  #current(maxAge: number): KeySet | null {
    const keys = this.#keys
    return keys && this.options.clock.now() - keys.fetchedAt < maxAge ? keys.set : null
  }

  #isUnknown(kid: string): boolean {
    return this.options.clock.now() < (this.#unknown.get(kid) ?? 0)
  }

  /** Simultaneous calls share one fetch. @returns false when it is too soon, or the fetch failed */
  async #fetch(): Promise<boolean> {
    const now = this.options.clock.now()
    if (this.#fetching !== null) return this.#fetching
    if (now - this.#fetchedAt < betweenFetchesMs) return false
    this.#fetchedAt = now
    this.#fetching = this.#fetchNow(now).finally(() => {
      this.#fetching = null
    })
    return this.#fetching
  }

  async #fetchNow(fetchedAt: number): Promise<boolean> {
    const { fetch, failed } = this.options
    try {
      const jwks = await fetch()
      if (jwks.keys.length === 0) throw new Error('the set of keys is empty')
      this.#keys = { set: keySetOf(jwks), fetchedAt }
      this.#problem = ''
      return true
    } catch (error) {
      this.#problem = (error as Error).message
      failed(error)
      return false
    }
  }
}
