import { AppError } from '@hermod/protocol'
import { networkOf } from '../../lib/limits/network.js'

/** What a password is hashed for. */
export type HashingPurpose = 'login' | 'registration'

/** Who waits for a password to be hashed. */
export interface HashingRequest {
  readonly purpose: HashingPurpose
  /** The client's network address; null where it says nothing about who asks. */
  readonly address?: string | null
  /** Waits as long as it takes: for lists of users, of which few are asked for at a time. */
  readonly isPatient?: boolean
}

export interface HashingQueueOptions {
  /** How many passwords are hashed at once. */
  readonly parallel: number
  /** How many may wait, half of them for logins and half for registrations. */
  readonly maxWaiting: number
}

/** Of the logins that may wait, one client address has at most a quarter. */
const addressShare = 4
/** Some hundred hashes take about that long. */
const retryAfterSeconds = 2

/**
 * The line in which passwords wait to be hashed, which costs more than all else that a stranger can ask for. It is bounded: what finds
 * its half full is refused. Registrations leave one of the places to logins, and where both wait they take turns.
 */
export class HashingQueue {
  readonly #waiting: Readonly<Record<HashingPurpose, (() => void)[]>> = {
    login: [],
    registration: [],
  }
  readonly #running: Record<HashingPurpose, number> = { login: 0, registration: 0 }
  readonly #logins = new Map<string, number>()
  #last: HashingPurpose = 'registration'

  constructor(private readonly options: HashingQueueOptions) {}

  /** @throws AppError unavailable when too many wait */
  async run<T>(request: HashingRequest, work: () => Promise<T>): Promise<T> {
    const { purpose } = request
    const network = purpose === 'login' && request.address ? networkOf(request.address) : null
    if (!request.isPatient) this.#requireRoom(purpose, network)
    if (network !== null) this.#logins.set(network, (this.#logins.get(network) ?? 0) + 1)
    await new Promise<void>((enter) => {
      this.#waiting[purpose].push(enter)
      this.#admit()
    })
    try {
      return await work()
    } finally {
      this.#running[purpose]--
      if (network !== null) this.#loginEnded(network)
      this.#admit()
    }
  }

  waiting(purpose: HashingPurpose): number {
    return this.#waiting[purpose].length
  }

  #requireRoom(purpose: HashingPurpose, network: string | null): void {
    const room = Math.ceil(this.options.maxWaiting / 2)
    const ofNetwork = network === null ? 0 : (this.#logins.get(network) ?? 0)
    if (this.#waiting[purpose].length >= room || ofNetwork >= Math.ceil(room / addressShare))
      throw new AppError('unavailable', 'too many passwords wait to be checked', {
        retryAfterSeconds,
      })
  }

  #admit(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      this.#last = next
      this.#running[next]++
      this.#waiting[next].shift()?.()
    }
  }

  #next(): HashingPurpose | null {
    const { parallel } = this.options
    const { login, registration } = this.#waiting
    if (this.#running.login + this.#running.registration >= parallel) return null
    const mayRegister =
      registration.length > 0 && this.#running.registration < Math.max(1, parallel - 1)
    if (login.length > 0 && !(mayRegister && this.#last === 'login')) return 'login'
    return mayRegister ? 'registration' : null
  }

  #loginEnded(network: string): void {
    const left = (this.#logins.get(network) ?? 0) - 1
    if (left > 0) this.#logins.set(network, left)
    else this.#logins.delete(network)
  }
}
