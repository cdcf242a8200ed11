import { AppError, type Int64 } from '@hermod/protocol'
import type { Clock } from '../../lib/clock.js'
import { FailureLimiter } from '../../lib/limits/failure-limiter.js'
import { networkOf } from '../../lib/limits/network.js'
import { LoginTurns } from './login-turns.js'

export interface LoginGuardOptions {
  readonly clock: Clock
  /** Failures in a row for one user and one origin after which attempts have to wait. */
  readonly userFailures: number
  /** Failures from one network, over all users, after which attempts have to wait. */
  readonly addressFailures: number
  /** The waits double from one second up to this. */
  readonly maxWaitMs: number
  /** Failures are forgotten after this time without another. */
  readonly forgetMs: number
  /** Replaces the random choice among networks that wait for a turn. */
  readonly pick?: (count: number) => number
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
  /**
   * The origins of this attempt from which the user has logged in before ({@link LoginOrigins}).
   * The attempt waits for failures of the most favourable one only.
   */
  readonly knownOrigins?: readonly string[]
}

/** The failures that one attempt has to wait for. */
interface Way {
  /** User and origin; null for an unknown name. */
  readonly own: string | null
  /** The network over all users; null for an origin that the user has logged in from. */
  readonly network: string | null
  /** The user to whom the network is new, at whom it takes turns. */
  readonly newTo: string | null
}

/** Attempts of one way that are being checked. */
interface Gate {
  /** Attempts that run or wait. */
  present: number
  running: number
  readonly waiting: (() => void)[]
}

/** Attempts of one way that may wait for others to finish; each keeps a call open. */
const maxWaiting = 64

/**
 * Slows down callers that guess passwords (rule D2): by pair of user and network, and by network
 * over all users, but never the user as a whole. A known device, network or session of the user
 * waits for its own failures only. Networks that are new to a user take turns when many try the
 * user. The counts are bounded and live in this process; each node counts separately.
 *
 * {@link verify} does all that a check of a password needs. A caller of `check`, `failed` and
 * `succeeded` must see to it that simultaneous attempts do not all pass the check.
 */
export class LoginGuard {
  readonly #pairs: FailureLimiter
  readonly #networks: FailureLimiter
  /** Networks without failures have turns of their own, so that those with failures never use them up. */
  readonly #turns: Readonly<Record<'clean' | 'failed', LoginTurns>>
  readonly #gates = new Map<string, Gate>()

  constructor({ clock, userFailures, addressFailures, pick, ...waits }: LoginGuardOptions) {
    this.#pairs = new FailureLimiter({ clock, limit: userFailures, ...waits })
    this.#networks = new FailureLimiter({ clock, limit: addressFailures, ...waits, isShared: true })
    const turns = () => new LoginTurns({ clock, ...(pick && { pick }) })
    this.#turns = { clean: turns(), failed: turns() }
  }

  /**
   * Checks a password and records the result. Running checks count as failures until they end, so
   * that simultaneous guesses are no more than sequential ones. Further attempts follow in order.
   *
   * @param isRight does the check; not called when the attempt has to wait
   * @throws AppError too_many_requests with the time to wait
   */
  async verify(attempt: LoginAttempt, isRight: () => Promise<boolean>): Promise<boolean> {
    const way = this.#bestWay(attempt)
    if (!way) return isRight()
    this.#requireNoWait(way)
    await this.#takeTurn(way)
    const [key, gate] = await this.#enter(way)
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
   * @throws AppError too_many_requests while the attempt has to wait for failures; it is not
   * counted then
   */
  check(attempt: LoginAttempt): void {
    const way = this.#bestWay(attempt)
    if (way) this.#requireNoWait(way)
  }

  /** Records a wrong password or an unknown name. */
  failed(attempt: LoginAttempt): void {
    for (const { own, network } of waysOf(attempt)) {
      if (own !== null) this.#pairs.failed(own)
      if (network !== null) this.#networks.failed(network)
    }
  }

  /** Records a correct password: clears the failures of the user's origins, not those of the network. */
  succeeded(attempt: LoginAttempt): void {
    const user = userKey(attempt)
    if (user === null) return
    for (const { own } of waysOf(attempt)) if (own !== null) this.#pairs.clear(own)
    this.#pairs.clear(originKey(user, appServer))
    if (attempt.address === null) return
    const network = networkOf(attempt.address)
    this.#pairs.clear(originKey(user, network))
    for (const turns of Object.values(this.#turns)) turns.giveBack(user, network)
  }

  /** @returns null for an attempt that nothing slows down */
  #bestWay(attempt: LoginAttempt): Way | null {
    const ways = waysOf(attempt).map((way) => ({ way, waitMs: this.#waitMs(way) }))
    return ways.sort((a, b) => a.waitMs - b.waitMs)[0]?.way ?? null
  }

  #waitMs({ own, network }: Way): number {
    return Math.max(
      own === null ? 0 : this.#pairs.waitMs(own),
      network === null ? 0 : this.#networks.waitMs(network),
    )
  }

  #requireNoWait(way: Way): void {
    const waitMs = this.#waitMs(way)
    if (waitMs > 0)
      throw new AppError('too_many_requests', 'failed logins', {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      })
  }

  async #takeTurn({ own, network, newTo }: Way): Promise<void> {
    if (newTo === null || own === null || network === null) return
    const { clean, failed } = this.#turns
    if (clean.has(newTo, network)) return
    const hasFailed = this.#pairs.count(own) > 0 || Math.round(this.#networks.count(network)) > 0
    await (hasFailed ? failed : clean).take(newTo, network)
  }

  async #enter(way: Way): Promise<readonly [key: string, Gate]> {
    const { own, network } = way
    const key = own ?? `@${network}`
    const gate = this.#gates.get(key) ?? { present: 0, running: 0, waiting: [] }
    if (gate.waiting.length >= maxWaiting)
      throw new AppError('too_many_requests', 'logins under way', { retryAfterSeconds: 1 })
    this.#gates.set(key, gate)
    gate.present++
    try {
      for (;;) {
        this.#requireNoWait(way)
        const free = own === null ? this.#networks.free(network ?? '') : this.#pairs.free(own)
        if (gate.running < free) break
        await new Promise<void>((resolve) => gate.waiting.push(resolve))
      }
    } catch (error) {
      this.#depart(key, gate)
      throw error
    }
    gate.running++
    return [key, gate]
  }

  #depart(key: string, gate: Gate): void {
    if (--gate.present === 0) this.#gates.delete(key)
    else gate.waiting.shift()?.()
  }
}

/** The origin of the logins of an app server, which says nothing about the networks of its users. */
const appServer = 'server'

/** Any one of the ways is enough; a failure counts for all of them. */
function waysOf(attempt: LoginAttempt): readonly Way[] {
  const { address, knownOrigins = [] } = attempt
  const user = userKey(attempt)
  const network = address === null ? null : networkOf(address)
  if (user === null) return network === null ? [] : [{ own: null, network, newTo: null }]
  const known = knownOrigins.map((origin) => ownWay(user, origin))
  if (network === null) return [...known, ownWay(user, appServer)]
  return known.length > 0 ? known : [{ own: originKey(user, network), network, newTo: user }]
}

function ownWay(user: string, origin: string): Way {
  return { own: originKey(user, origin), network: null, newTo: null }
}

function userKey({ appId, userId }: LoginAttempt): string | null {
  return userId === null ? null : `${appId}/${userId}`
}

function originKey(user: string, origin: string): string {
  return `${user} ${origin}`
}
