import { AppError, type Int64 } from '@hermod/protocol'
import { RateLimiter } from '../../lib/limits/rate-limiter.js'

/** The caller of a look-up. */
export interface LookupCaller {
  readonly userId: Int64
  readonly isAdminToken: boolean
}

/** An address book at once, then ten numbers a minute. */
const lookups = { burst: 300, perSecond: 10 / 60 }

/**
 * Limits the mobile numbers and e-mail addresses that a user can try, since numbers can be counted
 * through (rule A2b). An Admin token is not limited. Each node counts separately.
 */
export class NumberLookupLimit {
  /** By user ID, which is unique over all apps. */
  readonly #users = new RateLimiter<Int64>(lookups)

  /** @throws AppError too_many_requests with the time to wait */
  take({ userId, isAdminToken }: LookupCaller): void {
    if (isAdminToken) return
    const retryAfterSeconds = this.#users.take(userId)
    if (retryAfterSeconds > 0)
      throw new AppError('too_many_requests', 'look-ups by number', { retryAfterSeconds })
  }
}

/** Used with HERMOD_RATE_LIMIT=off. */
export const noNumberLookupLimit: Pick<NumberLookupLimit, 'take'> = { take: () => {} }
