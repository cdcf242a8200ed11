import { AppError, type Int64 } from '@hermod/protocol'
import { boundedCache } from '../lib/limits/bounded-cache.js'
import { Bucket, type BucketRate } from '../lib/limits/bucket.js'
import { maxKeys } from '../lib/limits/rate-limiter.js'

/** What the caller of a call has left to spend. */
export interface Allowance {
  /** Takes tokens beyond the one that every call takes, also those that are yet to come; less than 0 gives back. */
  charge(tokens: number): void
  /** The call is over. */
  end(): void
}

/** Of callers that nothing is counted for. */
export const unlimited: Allowance = { charge() {}, end() {} }

export interface UserLimits {
  /** In tokens. */
  readonly rate: BucketRate
  /** How many calls of one user may be under way at once. */
  readonly calls: number
}

/** What each user has left to spend, and how many of its calls are under way. */
export class UserAllowances {
  readonly #users = boundedCache<Int64, UserAllowance>(maxKeys)

  constructor(private readonly limits: UserLimits) {}

  /** @throws AppError too_many_requests */
  begin(userId: Int64): Allowance {
    let allowance = this.#users.get(userId)
    if (!allowance) {
      allowance = new UserAllowance(this.limits)
      this.#users.set(userId, allowance)
    }
    allowance.begin()
    return allowance
  }
}

class UserAllowance implements Allowance {
  readonly #bucket: Bucket
  #calls = 0

  constructor(private readonly limits: UserLimits) {
    this.#bucket = new Bucket(limits.rate)
  }

  /** @throws AppError too_many_requests */
  begin(): void {
    const { rate, calls } = this.limits
    if (this.#calls >= calls)
      throw new AppError('too_many_requests', `${calls} are under way`, { retryAfterSeconds: 1 })
    const retryAfterSeconds = this.#bucket.take(rate)
    if (retryAfterSeconds > 0)
      throw new AppError('too_many_requests', undefined, { retryAfterSeconds })
    this.#calls++
  }

  charge(tokens: number): void {
    this.#bucket.charge(tokens)
  }

  end(): void {
    this.#calls--
  }
}
