import { AppError, type Int64 } from '@hermod/protocol'
import type { Clock } from '../../lib/clock.js'
import { boundedCache } from '../../lib/limits/bounded-cache.js'
import { networkOf } from '../../lib/limits/network.js'

export interface LoginGuardOptions {
  readonly clock: Clock
  /** Failures in a row for one user after which attempts have to wait. */
  readonly userFailures: number
  /** Failures from one address, over all users, after which attempts have to wait. */
  readonly addressFailures: number
  /** The waits double from one second up to this. */
  readonly maxWaitMs: number
  /** Failures are forgotten after this time without another. */
  readonly forgetMs: number
}

/** An attempt to log in with a password. */
export interface LoginAttempt {
  readonly appId: string
  /** null when no user has the name. */
  readonly userId: Int64 | null
  /**
   * null when an app server passes the password on for its users: its address says nothing about
   * the user.
   */
  readonly address: string | null
}

interface Failures {
  readonly count: number
  readonly at: number
}

/** Attempts of one user, or of unknown names from one address, that are being checked. */
interface Gate {
  /** Attempts that run or wait. */
  present: number
  running: number
  readonly waiting: (() => void)[]
}

const maxEntries = 50_000
const firstWaitMs = 1000
/** Attempts of one user that may wait for others to finish; each keeps a call open. */
const maxWaiting = 64

/**
 * Slows down callers that guess passwords (rule D2), per user and per address, and locks no user
 * out. Addresses from which a user logged in before are counted apart. So neither guesses from
 * elsewhere nor those of others behind the same address delay the user. The counts are bounded and
 * live in this process; each node counts separately.
 *
 * {@link verify} does all that a check of a password needs. A caller of `check`, `failed` and
 * `succeeded` must see to it that simultaneous attempts do not all pass the check.
 */
export class LoginGuard {
  readonly #failures = boundedCache<string, Failures>(maxEntries)
  /** Pairs of user and address with a login that succeeded. */
  readonly #familiar = boundedCache<string, true>(maxEntries)
  readonly #gates = new Map<string, Gate>()

  constructor(private readonly options: LoginGuardOptions) {}

  /**
   * Checks a password and records the result. Running checks of a user count as failures until they
   * end, so that simultaneous guesses are no more than sequential ones. Further attempts follow in
   * order.
   *
   * @param isRight does the check; not called when the attempt has to wait
   * @throws AppError too_many_requests with the time to wait
   */
  async verify(attempt: LoginAttempt, isRight: () => Promise<boolean>): Promise<boolean> {
    const [key] = this.#keysOf(attempt)
    if (key === undefined) return isRight()
    const gate = await this.#enter(key, attempt)
    try {
      const right = await isRight()
      if (right) this.succeeded(attempt)
      else this.failed(attempt)
      return right
    } finally {
      gate.running--
      this.#depart(key, gate)
    }
  }

  /**
   * @throws AppError too_many_requests while the user or the address has to wait; the attempt is
   * not counted then
   */
  check(attempt: LoginAttempt): void {
    const waitMs = Math.max(0, ...this.#keysOf(attempt).map((key) => this.#waitMs(key)))
    if (waitMs > 0)
      throw new AppError('too_many_requests', 'failed logins', {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      })
  }

  /** Records a wrong password or an unknown name. */
  failed(attempt: LoginAttempt): void {
    const at = this.options.clock.now()
    for (const key of this.#keysOf(attempt))
      this.#failures.set(key, { count: this.#count(key, at) + 1, at })
  }

  /** Records a correct password: clears the failures of the user, not those of the address. */
  succeeded(attempt: LoginAttempt): void {
    const user = userKey(attempt)
    if (user === null) return
    this.#failures.delete(user)
    this.#failures.delete(serverKey(user))
    if (attempt.address === null) return
    const familiar = `${user} ${addressKey(attempt.address)}`
    this.#failures.delete(familiar)
    this.#familiar.set(familiar, true)
  }

  /** The keys that the attempt counts under, the most specific first. */
  #keysOf(attempt: LoginAttempt): string[] {
    const user = userKey(attempt)
    if (attempt.address === null) return user === null ? [] : [serverKey(user)]
    const address = addressKey(attempt.address)
    if (user === null) return [address]
    const both = `${user} ${address}`
    return this.#familiar.get(both) ? [both] : [user, address]
  }

  /**
   * The failures of an address also expire one by one: a shared address is never without a failure
   * for long.
   */
  #count(key: string, now: number): number {
    const { forgetMs } = this.options
    const { count, at } = this.#failures.get(key) ?? { count: 0, at: now }
    const quietMs = Math.max(0, now - at)
    if (quietMs >= forgetMs) return 0
    return isAddress(key) ? Math.max(0, count - (quietMs / forgetMs) * this.#limit(key)) : count
  }

  #waitMs(key: string): number {
    const { clock, maxWaitMs } = this.options
    const failures = this.#failures.get(key)
    if (!failures) return 0
    const excess = Math.round(failures.count) - this.#limit(key)
    if (excess < 0) return 0
    const waitMs = Math.min(maxWaitMs, firstWaitMs * 2 ** excess)
    // Bounded, for a clock that was set back.
    return Math.min(waitMs, failures.at + waitMs - clock.now())
  }

  #limit(key: string): number {
    return isAddress(key) ? this.options.addressFailures : this.options.userFailures
  }

  async #enter(key: string, attempt: LoginAttempt): Promise<Gate> {
    const gate = this.#gates.get(key) ?? { present: 0, running: 0, waiting: [] }
    if (gate.waiting.length >= maxWaiting)
      throw new AppError('too_many_requests', 'logins under way', { retryAfterSeconds: 1 })
    this.#gates.set(key, gate)
    gate.present++
    try {
      for (;;) {
        this.check(attempt)
        const free = this.#limit(key) - this.#count(key, this.options.clock.now())
        if (gate.running < Math.max(1, free)) break
        await new Promise<void>((resolve) => gate.waiting.push(resolve))
      }
    } catch (error) {
      this.#depart(key, gate)
      throw error
    }
    gate.running++
    return gate
  }

  #depart(key: string, gate: Gate): void {
    if (--gate.present === 0) this.#gates.delete(key)
    else gate.waiting.shift()?.()
  }
}

function userKey({ appId, userId }: LoginAttempt): string | null {
  return userId === null ? null : `${appId}/${userId}`
}

/**
 * Counted apart from the user's other failures, so that guesses from outside do not delay users who
 * log in through an app server.
 */
function serverKey(user: string): string {
  return `${user} server`
}

function addressKey(address: string): string {
  return `@${networkOf(address)}`
}

function isAddress(key: string): boolean {
  return key.startsWith('@')
}
