import { AppError, type Int64 } from '@hermod/protocol'
import { boundedCache } from '../lib/limits/bounded-cache.js'
import { maxKeys } from '../lib/limits/rate-limiter.js'
import { type BucketRate, TokenBucket } from '../lib/limits/token-bucket.js'

/** What the caller of a call has left to spend. */
export interface Allowance {
  /** Takes tokens beyond the one that every call takes, also those that are yet to come; less than 0 gives back. */
  charge(tokens: number): void
  /**
   * Before a file comes or goes.
   * @throws AppError too_many_requests until the bytes of the files before it are paid
   */
  requireFileBytes(): void
  /** Takes bytes of a file that came or went. */
  chargeFileBytes(bytes: number): void
  /** The call is over. */
  end(): void
}

/** Of callers that nothing is counted for. */
export const unlimited: Allowance = {
  charge() {},
  requireFileBytes() {},
  chargeFileBytes() {},
  end() {},
}

export interface UserLimits {
  /** In tokens. */
  readonly rate: BucketRate
  /** How many calls of one user may be under way at once. */
  readonly calls: number
  /** In bytes of files that come and go. */
  readonly fileRate: BucketRate
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
  readonly #bucket: TokenBucket
  /** Of a user who has sent or fetched a file; one who is in debt for it may still do everything else. */
  #fileBytes: TokenBucket | null = null
  #calls = 0

  constructor(private readonly limits: UserLimits) {
    this.#bucket = new TokenBucket(limits.rate)
  }

  /** @throws AppError too_many_requests */
  begin(): void {
    const { calls } = this.limits
    if (this.#calls >= calls)
      throw new AppError('too_many_requests', `${calls} are under way`, { retryAfterSeconds: 1 })
    const retryAfterSeconds = this.#bucket.take()
    if (retryAfterSeconds > 0)
      throw new AppError('too_many_requests', undefined, { retryAfterSeconds })
    this.#calls++
  }

  charge(tokens: number): void {
    this.#bucket.charge(tokens)
  }

  /** @throws AppError too_many_requests */
  requireFileBytes(): void {
    const retryAfterSeconds = this.#fileBytes?.waitSeconds() ?? 0
    if (retryAfterSeconds > 0)
      throw new AppError('too_many_requests', 'bytes of files', { retryAfterSeconds })
  }

  chargeFileBytes(bytes: number): void {
    if (bytes === 0) return
    this.#fileBytes ??= new TokenBucket(this.limits.fileRate)
    this.#fileBytes.charge(bytes)
  }

  end(): void {
    this.#calls--
  }
}
