import { AppError, type Int64 } from '@hermod/protocol'
import { boundedCache } from '../lib/limits/bounded-cache.js'
import { maxKeys } from '../lib/limits/rate-limiter.js'
import { type BucketRate, TokenBucket } from '../lib/limits/token-bucket.js'

/** The remaining budget of a caller. */
export interface Allowance {
  /**
   * Takes tokens beyond the one of every call; the balance may become negative. A negative number
   * gives tokens back.
   */
  charge(tokens: number): void
  /**
   * Takes the tokens of a body before it is parsed.
   * @throws AppError too_many_requests while the balance is negative; nothing is taken
   */
  chargeBody(tokens: number): void
  /**
   * Called before a file is sent or received.
   * @throws AppError too_many_requests until the bytes of the files before it are paid
   */
  requireFileBytes(): void
  /** Charges bytes of a file that was sent or received. */
  chargeFileBytes(bytes: number): void
  /** Ends the call. */
  end(): void
}

/** The allowance of callers without limits. */
export const unlimited: Allowance = {
  charge() {},
  chargeBody() {},
  requireFileBytes() {},
  chargeFileBytes() {},
  end() {},
}

interface UserLimits {
  /** Tokens. */
  readonly rate: BucketRate
  /** Calls of one user that may run at once. */
  readonly calls: number
  /** Bytes of files that are sent and received. */
  readonly fileRate: BucketRate
}

/** The allowance of each user, and the number of its running calls. */
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
  /** Set once the user has sent or fetched a file; a debt for files keeps the user from moving files only. */
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
  chargeBody(tokens: number): void {
    const retryAfterSeconds = tokens > 0 ? this.#bucket.debtSeconds() : 0
    if (retryAfterSeconds > 0)
      throw new AppError('too_many_requests', undefined, { retryAfterSeconds })
    this.charge(tokens)
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
