import { TokenBucket } from 'limiter'
import { LRUCache } from 'lru-cache'

const maxAddresses = 50_000

/** One token bucket per client address; the addresses that were not heard of for the longest time are forgotten first. */
export class AddressLimiter {
  readonly #buckets = new LRUCache<string, TokenBucket>({ max: maxAddresses })

  constructor(private readonly limits: { readonly perSecond: number; readonly burst: number }) {}

  /** @returns 0 when the address may go on, else the seconds after which it may */
  take(address: string): number {
    let bucket = this.#buckets.get(address)
    if (!bucket) {
      const { perSecond, burst } = this.limits
      bucket = new TokenBucket({ bucketSize: burst, tokensPerInterval: perSecond, interval: 'second' })
      bucket.content = burst
      this.#buckets.set(address, bucket)
    }
    return bucket.tryRemoveTokens(1) ? 0 : Math.max(1, Math.ceil(bucket.getWaitTime(1) / 1000))
  }
}

/** For HERMOD_RATE_LIMIT=off. */
export const noAddressLimit = { take: () => 0 }
