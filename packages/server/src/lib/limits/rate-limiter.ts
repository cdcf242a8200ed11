import { boundedCache } from './bounded-cache.js'
import { Bucket, type BucketRate } from './bucket.js'

/** So many keys are remembered; those that were not heard of for the longest time are forgotten first. */
export const maxKeys = 50_000

/** One token bucket per key. */
export class RateLimiter<Key extends string | number | bigint> {
  readonly #buckets = boundedCache<Key, Bucket>(maxKeys)

  constructor(private readonly rate: BucketRate) {}

  /** @returns 0 when the key may go on, else the whole seconds after which it may */
  take(key: Key): number {
    return (this.#buckets.get(key) ?? this.#open(key)).take(this.rate)
  }

  /** Undoes one {@link take} that was let through. */
  giveBack(key: Key): void {
    this.#buckets.get(key)?.giveBack(this.rate)
  }

  #open(key: Key): Bucket {
    const bucket = new Bucket(this.rate)
    this.#buckets.set(key, bucket)
    return bucket
  }
}
