import { AppError, type Int64 } from '@hermod/protocol'
import type { Clock } from '../../lib/clock.js'
import { KeyedSlots } from '../../lib/concurrency/slots.js'
import { FailureLimiter } from '../../lib/limits/failure-limiter.js'
import { networkOf } from '../../lib/limits/network.js'
import { NewNetworkLimiter } from './new-network-limiter.js'

interface LoginGuardOptions {
  readonly clock: Clock
  /** Failures in a row for one user and one origin after which attempts have to wait. */
  readonly userFailures: number
  /** Failures from one network, over all users, after which attempts have to wait. */
  readonly addressFailures: number
  /** The waits double from one second up to this. */
  readonly maxWaitMs: number
  /** Failures are forgotten after this time without another. */
  readonly forgetMs: number
  /** Adds the failures of other nodes; null: there are none. */
  readonly sharing: FailureSharing | null
  /** Replaces the random choice among networks that wait for a turn. */
  readonly pick?: (count: number) => number
}

/** Tells failures to the other nodes, and gets theirs. */
export interface FailureSharing {
  /** The form in which a key is stored, which names neither users nor networks. */
  hashOf(kind: string, key: string): string
  add(limiter: FailureLimiter): void
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

/**
 * The failures that one attempt has to wait for: of a pair of user and origin, of a network over
 * all users, or of both.
 */
type AttemptPath =
  | { readonly kind: 'unknown_name'; readonly network: string }
  | { readonly kind: 'known_origin'; readonly pair: string }
  | NewNetwork

/** A network that the user has not logged in from. It takes turns with others at the user. */
interface NewNetwork {
  readonly kind: 'new_network'
  readonly pair: string
  readonly network: string
  readonly user: string
}

/** Attempts at one pair or network that may wait for others to finish; each keeps a call open. */
const maxWaiting = 64

/**
 * Slows down callers that guess passwords (rule D2): by pair of user and network, and by network
 * over all users, but never the user as a whole. A known device, network or session of the user
 * waits for its own failures only. Networks that are new to a user take turns when many try the
 * user, on each node. The counts are bounded; nodes add those of the others.
 *
 * {@link verify} does all that a check of a password needs. A caller of `check`, `failed` and
 * `succeeded` must see to it that simultaneous attempts do not all pass the check.
 */
export class LoginGuard {
  readonly #pairs: FailureLimiter
  readonly #networks: FailureLimiter
  /** Networks without failures have turns of their own, so that those with failures never use them up. */
  readonly #turns: Readonly<Record<'clean' | 'failed', NewNetworkLimiter>>
  readonly #pairChecks: KeyedSlots
  readonly #networkChecks: KeyedSlots

  constructor(options: LoginGuardOptions) {
    const { clock, userFailures, addressFailures, pick, sharing, ...waits } = options
    const keyOf = (kind: string) =>
      sharing === null ? {} : { keyOf: (key: string) => sharing.hashOf(kind, key) }
    this.#pairs = new FailureLimiter({ clock, limit: userFailures, ...waits, ...keyOf('pair') })
    this.#networks = new FailureLimiter({
      ...{ clock, limit: addressFailures, ...waits, isShared: true },
      ...keyOf('network'),
    })
    for (const limiter of [this.#pairs, this.#networks]) sharing?.add(limiter)
    const turns = () => new NewNetworkLimiter({ clock, ...(pick && { pick }) })
    this.#turns = { clean: turns(), failed: turns() }
    this.#pairChecks = checksOf(this.#pairs)
    this.#networkChecks = checksOf(this.#networks)
  }

  /**
   * Checks a password and records the result. Running checks count as failures until they end, so
   * that simultaneous guesses are no more than sequential ones. Further attempts follow in order.
   *
   * @param isRight does the check; not called when the attempt has to wait
   * @throws AppError too_many_requests with the time to wait
   */
  async verify(attempt: LoginAttempt, isRight: () => Promise<boolean>): Promise<boolean> {
    const path = this.#bestPath(attempt)
    if (!path) return isRight()
    this.#requireNoWait(path)
    if (path.kind === 'new_network') await this.#takeTurn(path)
    const check = async () => {
      this.#requireNoWait(path)
      const right = await isRight()
      if (right) this.succeeded(attempt)
      else this.failed(attempt)
      return right
    }
    return path.kind === 'unknown_name'
      ? this.#networkChecks.run(path.network, check)
      : this.#pairChecks.run(path.pair, check)
  }

  /**
   * @throws AppError too_many_requests while the attempt has to wait for failures; it is not
   * counted then
   */
  check(attempt: LoginAttempt): void {
    const path = this.#bestPath(attempt)
    if (path) this.#requireNoWait(path)
  }

  /** Records a wrong password or an unknown name. */
  failed(attempt: LoginAttempt): void {
    for (const path of pathsOf(attempt)) {
      if (path.kind !== 'unknown_name') this.#pairs.failed(path.pair)
      if (path.kind !== 'known_origin') this.#networks.failed(path.network)
    }
  }

  /** Records a correct password: clears the failures of the user's origins, not those of the network. */
  succeeded(attempt: LoginAttempt): void {
    const user = userKey(attempt)
    if (user === null) return
    for (const path of pathsOf(attempt))
      if (path.kind !== 'unknown_name') this.#pairs.clear(path.pair)
    this.#pairs.clear(pairKey(user, appServer))
    if (attempt.address === null) return
    const network = networkOf(attempt.address)
    this.#pairs.clear(pairKey(user, network))
    for (const turns of Object.values(this.#turns)) turns.giveBack(user, network)
  }

  /** @returns null for an attempt that nothing slows down */
  #bestPath(attempt: LoginAttempt): AttemptPath | null {
    const paths = pathsOf(attempt).map((path) => ({ path, waitMs: this.#waitMs(path) }))
    return paths.sort((a, b) => a.waitMs - b.waitMs)[0]?.path ?? null
  }

  #waitMs(path: AttemptPath): number {
    return Math.max(
      path.kind === 'unknown_name' ? 0 : this.#pairs.waitMs(path.pair),
      path.kind === 'known_origin' ? 0 : this.#networks.waitMs(path.network),
    )
  }

  #requireNoWait(path: AttemptPath): void {
    const waitMs = this.#waitMs(path)
    if (waitMs > 0)
      throw new AppError('too_many_requests', 'failed logins', {
        retryAfterSeconds: Math.ceil(waitMs / 1000),
      })
  }

  async #takeTurn({ pair, network, user }: NewNetwork): Promise<void> {
    const { clean, failed } = this.#turns
    if (clean.has(user, network)) return
    const hasFailed = this.#pairs.count(pair) > 0 || Math.round(this.#networks.count(network)) > 0
    await (hasFailed ? failed : clean).take(user, network)
  }
}

/** The origin of the logins of an app server, which says nothing about the networks of its users. */
const appServer = 'server'

/** Checks at once are no more than may fail; further ones wait. */
function checksOf(failures: FailureLimiter): KeyedSlots {
  return new KeyedSlots((key) => ({
    parallel: () => failures.free(key),
    maxWaiting,
    full: () => new AppError('too_many_requests', 'logins under way', { retryAfterSeconds: 1 }),
  }))
}

/** Any one of the paths is enough; a failure counts for all of them. */
function pathsOf(attempt: LoginAttempt): readonly AttemptPath[] {
  const { address, knownOrigins = [] } = attempt
  const user = userKey(attempt)
  const network = address === null ? null : networkOf(address)
  if (user === null) return network === null ? [] : [{ kind: 'unknown_name', network }]
  const known = knownOrigins.map((origin) => knownOrigin(user, origin))
  if (network === null) return [...known, knownOrigin(user, appServer)]
  if (known.length > 0) return known
  return [{ kind: 'new_network', pair: pairKey(user, network), network, user }]
}

function knownOrigin(user: string, origin: string): AttemptPath {
  return { kind: 'known_origin', pair: pairKey(user, origin) }
}

function userKey({ appId, userId }: LoginAttempt): string | null {
  return userId === null ? null : `${appId}/${userId}`
}

function pairKey(user: string, origin: string): string {
  return `${user} ${origin}`
}
