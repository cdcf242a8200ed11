import { AppError } from '@hermod/protocol'
import { FailureLimiter, type FailureLimiterOptions } from '../../lib/limits/failure-limiter.js'
import type { ContactSide } from './contact-model.js'

interface AnswerGuardOptions extends Omit<FailureLimiterOptions, 'limit' | 'isShared'> {
  /** Wrong answers in a row of one user to another after which attempts have to wait. */
  readonly userFailures: number
  /** Wrong answers of one user, to all others, after which attempts have to wait. */
  readonly addressFailures: number
}

/**
 * Slows down users who guess auth_answers (rule D2), by pair of caller and target and by caller. The
 * counts live in this process. Callers hold the locks of both users, so that simultaneous guesses
 * are sequential ones.
 */
export class AnswerGuard {
  readonly #pairs: FailureLimiter
  readonly #callers: FailureLimiter

  constructor({ userFailures, addressFailures, ...options }: AnswerGuardOptions) {
    this.#pairs = new FailureLimiter({ ...options, limit: userFailures })
    this.#callers = new FailureLimiter({ ...options, limit: addressFailures, isShared: true })
  }

  /**
   * Runs the check of an answer and records the result.
   * @param check throws for a wrong answer
   * @throws AppError too_many_requests with the time to wait; then the answer is not checked
   */
  verify<T>(side: ContactSide, check: () => T): T {
    const caller = `${side.appId}/${side.userId}`
    const pair = `${caller} ${side.peerId}`
    const waitMs = Math.max(this.#pairs.waitMs(pair), this.#callers.waitMs(caller))
    if (waitMs > 0)
      throw new AppError('too_many_requests', 'wrong answers', {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      })
    try {
      const result = check()
      this.#pairs.clear(pair)
      return result
    } catch (error) {
      this.#pairs.failed(pair)
      this.#callers.failed(caller)
      throw error
    }
  }
}
