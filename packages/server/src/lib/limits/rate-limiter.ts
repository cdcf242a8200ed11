import { boundedCache } from './bounded-cache.js'
import { type BucketRate, TokenBucket } from './token-bucket.js'

/** The number of keys in memory; the least recently used ones are dropped first. */
export const maxKeys = 50_000

/** One token bucket per key. */
export class RateLimiter<Key extends string | number | bigint> {
  readonly #buckets = boundedCache<Key, TokenBucket>(maxKeys)

  constructor(private readonly rate: BucketRate) {}

  /** @returns 0 when the call is let through, else the whole seconds after which it may be */
  take(key: Key): number {
    return (this.#buckets.get(key) ?? this.#open(key)).take()
  }

  /** Takes tokens, also those that are yet to come. @returns as {@link take}; in debt nothing is taken */
  charge(key: Key, tokens: number): number {
    const bucket = this.#buckets.get(key) ?? this.#open(key)
    const waitSeconds = bucket.debtSeconds()
    if (waitSeconds === 0) bucket.charge(tokens)
    return waitSeconds
  }

  /** Undoes one {@link take} that was let through. */
  giveBack(key: Key): void {
    this.#buckets.get(key)?.giveBack()
  }

  #open(key: Key): TokenBucket {
    const bucket = new TokenBucket(this.rate)
    this.#buckets.set(key, bucket)
    return bucket
  }
}
