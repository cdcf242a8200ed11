import { randomInt } from 'node:crypto'
import { AppError } from '@hermod/protocol'
import { type Clock, minuteMs } from '../../lib/clock.js'
import { boundedCache } from '../../lib/limits/bounded-cache.js'

interface LoginTurnsOptions {
  readonly clock: Clock
  /** A whole number from 0 to below its argument; by default random. */
  readonly pick?: (count: number) => number
}

interface WaitingLogin {
  readonly network: string
  readonly until: number
  readonly admit: () => void
  readonly refuse: () => void
}

/** Networks that may try one user in a minute. */
const networksPerMinute = 5
/** Networks that wait for a turn at one user; each keeps a call open. */
const maxWaiting = 64
/** The time for which a call waits; then its client tries again. */
const maxWaitMs = 5_000
const sweepMs = 250
const maxUsers = 50_000

/**
 * Lets few new networks a minute try one user; beyond that they take turns in random order (rule
 * D2), so that a crowd of networks delays another one but never shuts it out. A network that had
 * its turn may try again for the rest of its minute.
 */
export class NewNetworkLimiter {
  /** By user: networks with the time of their turn. */
  readonly #turns = boundedCache<string, Map<string, number>>(maxUsers)
  readonly #waiting = new Map<string, WaitingLogin[]>()
  readonly #pick: (count: number) => number
  #sweeping: NodeJS.Timeout | undefined

  constructor(private readonly options: LoginTurnsOptions) {
    this.#pick = options.pick ?? randomInt
  }

  /**
   * Resolves when the network may try the user.
   * @throws AppError too_many_requests when its turn did not come in time
   */
  async take(user: string, network: string): Promise<void> {
    const turns = this.#turnsOf(user)
    if (turns.has(network)) return
    const waiting = this.#waiting.get(user) ?? []
    if (waiting.length === 0 && turns.size < networksPerMinute) {
      turns.set(network, this.options.clock.now())
      return
    }
    if (waiting.some((other) => other.network === network)) throw tooMany()
    if (waiting.length >= maxWaiting) this.#remove(waiting).refuse()
    await new Promise<void>((admit, reject) => {
      const until = this.options.clock.now() + maxWaitMs
      waiting.push({ network, until, admit, refuse: () => reject(tooMany()) })
      this.#waiting.set(user, waiting)
      this.#sweeping ??= setInterval(() => this.#sweep(), sweepMs)
    })
  }

  /** Tests whether the network had a turn within the last minute. */
  has(user: string, network: string): boolean {
    return this.#turnsOf(user).has(network)
  }

  /** Frees the turn of a network that turned out to be the user's. */
  giveBack(user: string, network: string): void {
    this.#turnsOf(user).delete(network)
  }

  #turnsOf(user: string): Map<string, number> {
    const now = this.options.clock.now()
    const turns = this.#turns.get(user) ?? new Map<string, number>()
    for (const [network, at] of turns) if (now < at || now - at >= minuteMs) turns.delete(network)
    this.#turns.set(user, turns)
    return turns
  }

  #sweep(): void {
    const now = this.options.clock.now()
    for (const [user, waiting] of this.#waiting) {
      const turns = this.#turnsOf(user)
      while (waiting.length > 0 && turns.size < networksPerMinute) {
        const next = this.#remove(waiting)
        turns.set(next.network, now)
        next.admit()
      }
      const stays = waiting.filter((each) => each.until > now)
      for (const each of waiting) if (each.until <= now) each.refuse()
      if (stays.length === 0) this.#waiting.delete(user)
      else this.#waiting.set(user, stays)
    }
    if (this.#waiting.size > 0) return
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }

  /** Takes a random one of those that wait. */
  #remove(waiting: WaitingLogin[]): WaitingLogin {
    const [removed] = waiting.splice(this.#pick(waiting.length), 1)
    if (!removed) throw new Error('no such place in the list')
    return removed
  }
}

function tooMany(): AppError {
  return new AppError('too_many_requests', 'logins from new networks', { retryAfterSeconds: 1 })
}
