import { boundedCache } from './bounded-cache.js'
import { maxKeys } from './rate-limiter.js'
import { type BucketRate, TokenBucket } from './token-bucket.js'

/** Attempts a second of keys. */
export type KeyUse = Readonly<Record<string, number>>

/** The use of a key from this part of the limit on is told. */
const toldPart = 1 / 100
const maxTold = 200
/** From this part of the limit on the nodes divide it; below it each node has all of it. */
const dividedPart = 1 / 2
/** The share of a node that had no use, as a part of what the others used. */
const leastPart = 1 / 50

/**
 * One token bucket per key of a limit that several processes share. Each tells its attempts from
 * time to time, and enforces the share of the limit that it has of all attempts.
 */
export class DividedRateLimiter {
  readonly #buckets = boundedCache<string, TokenBucket>(maxKeys)
  readonly #attempts = new Map<string, number>()
  readonly #shares = new Map<string, number>()
  #own: KeyUse = {}
  #toldAt: number

  /** @param clock milliseconds that only grow */
  constructor(
    private readonly rate: BucketRate,
    private readonly clock: { now(): number } = performance,
  ) {
    this.#toldAt = clock.now()
  }

  /** @returns 0 when the call is let through, else the whole seconds after which it may be */
  take(key: string): number {
    this.#attempts.set(key, (this.#attempts.get(key) ?? 0) + 1)
    return (this.#buckets.get(key) ?? this.#open(key)).take()
  }

  /** Undoes one {@link take} that was let through. */
  giveBack(key: string): void {
    this.#buckets.get(key)?.giveBack()
  }

  /** The attempts since the last call of this, of keys with some use. */
  own(): KeyUse {
    const now = this.clock.now()
    const seconds = Math.max(1, (now - this.#toldAt) / 1000)
    this.#toldAt = now
    const used = [...this.#attempts]
      .map(([key, attempts]) => [key, attempts / seconds] as const)
      .filter(([, perSecond]) => perSecond >= this.rate.perSecond * toldPart)
      .sort(([, a], [, b]) => b - a)
      .slice(0, maxTold)
    this.#attempts.clear()
    this.#own = Object.fromEntries(used)
    return this.#own
  }

  /** Divides the limits by what the other processes told. */
  received(others: readonly KeyUse[]): void {
    for (const key of new Set([this.#own, ...others].flatMap((each) => Object.keys(each)))) {
      const share = this.#shareOf(
        this.#own[key] ?? 0,
        others.map((each) => each[key] ?? 0),
      )
      this.#setShare(key, share)
    }
    for (const key of [...this.#shares.keys()])
      if (!(key in this.#own) && !others.some((each) => key in each)) this.#setShare(key, 1)
  }

  /** The part of the limit that this process enforces. */
  #shareOf(own: number, others: readonly number[]): number {
    const total = others.reduce((sum, use) => sum + use, own)
    if (total < this.rate.perSecond * dividedPart) return 1
    const weightOf = (use: number) => Math.max(use, total * leastPart)
    return weightOf(own) / others.reduce((sum, use) => sum + weightOf(use), weightOf(own))
  }

  #setShare(key: string, share: number): void {
    if (share === 1) this.#shares.delete(key)
    else this.#shares.set(key, share)
    const bucket = this.#buckets.get(key)
    if (bucket) bucket.rate = this.#rateOf(key)
  }

  #rateOf(key: string): BucketRate {
    const share = this.#shares.get(key) ?? 1
    const { perSecond, burst } = this.rate
    return { perSecond: perSecond * share, burst: Math.max(1, burst * share) }
  }

  #open(key: string): TokenBucket {
    const bucket = new TokenBucket(this.#rateOf(key), this.clock)
    this.#buckets.set(key, bucket)
    return bucket
  }
}
