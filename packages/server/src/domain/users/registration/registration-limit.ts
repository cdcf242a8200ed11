import { AppError, type AppSettings } from '@hermod/protocol'
import { boundedCache } from '../../../lib/limits/bounded-cache.js'
import { networkOf } from '../../../lib/limits/network.js'
import { maxKeys } from '../../../lib/limits/rate-limiter.js'
import { type BucketRate, TokenBucket } from '../../../lib/limits/token-bucket.js'

/** Fields of an app that the limit needs. */
export interface LimitedApp {
  readonly appId: string
  readonly settings: Pick<AppSettings, 'registration_rate' | 'registration_burst'>
}

/** Limits registrations per client address in an app (rule A2b). Each node counts separately. */
export class RegistrationLimit {
  readonly #buckets = boundedCache<string, TokenBucket>(maxKeys)

  /**
   * Counts a registration.
   * @returns a function that undoes it, for a failure that is not the caller's
   * @throws AppError address_limited with the time to wait
   */
  take(app: LimitedApp, address: string): () => void {
    const rate = registrationRate(app)
    const key = `${app.appId} ${networkOf(address)}`
    const bucket = this.#buckets.get(key) ?? new TokenBucket(rate)
    // The settings of the app may have changed.
    bucket.rate = rate
    this.#buckets.set(key, bucket)
    const retryAfterSeconds = bucket.take()
    if (retryAfterSeconds > 0)
      throw new AppError('address_limited', 'registrations', { retryAfterSeconds })
    return () => bucket.giveBack()
  }
}

function registrationRate({ settings }: LimitedApp): BucketRate {
  return { perSecond: settings.registration_rate / 60, burst: settings.registration_burst }
}

/** Used with HERMOD_RATE_LIMIT=off. */
export const noRegistrationLimit: Pick<RegistrationLimit, 'take'> = { take: () => () => {} }
