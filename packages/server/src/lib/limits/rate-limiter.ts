import { TokenBucket } from 'limiter'
import { LRUCache } from 'lru-cache'

const maxKeys = 50_000

/** One token bucket per key; the keys that were not heard of for the longest time are forgotten first. */
export class RateLimiter<Key extends string | number | bigint> {
  readonly #buckets = new LRUCache<Key, TokenBucket>({ max: maxKeys })

  constructor(private readonly limits: { readonly perSecond: number; readonly burst: number }) {}

  /** @returns 0 when the key may go on, else the whole seconds after which it may */
  take(key: Key): number {
    const bucket = this.#buckets.get(key) ?? this.#open(key)
    return bucket.tryRemoveTokens(1) ? 0 : Math.max(1, Math.ceil(bucket.getWaitTime(1) / 1000))
  }

  /** Undoes one {@link take} that was let through. */
  giveBack(key: Key): void {
    const bucket = this.#buckets.get(key)
    if (bucket) bucket.content = Math.min(bucket.content + 1, bucket.bucketSize)
  }

  #open(key: Key): TokenBucket {
    const { perSecond, burst } = this.limits
    const bucket = new TokenBucket({
      bucketSize: burst,
      tokensPerInterval: perSecond,
      interval: 'second',
    })
    bucket.content = burst
    this.#buckets.set(key, bucket)
    return bucket
  }
}
