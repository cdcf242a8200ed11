import { AppError } from '@hermod/protocol'
import { FairLine } from '../../lib/concurrency/fair-line.js'
import { networkOf } from '../../lib/limits/network.js'

/** What a password is hashed for. */
export const hashingPurposes = ['login', 'registration'] as const
export type HashingPurpose = (typeof hashingPurposes)[number]

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
 * its half full is refused. Logins and registrations take turns, and so do client addresses, so that nobody waits for more than a few
 * of those of another address, however many there are.
 */
export class HashingQueue {
  readonly #waiting: Readonly<Record<HashingPurpose, FairLine<() => void>>> = {
    login: new FairLine(),
    registration: new FairLine(),
  }
  readonly #refused: Record<HashingPurpose, number> = { login: 0, registration: 0 }
  #running = 0
  #last: HashingPurpose = 'registration'

  constructor(private readonly options: HashingQueueOptions) {}

  /** @throws AppError unavailable when too many wait */
  async run<T>(request: HashingRequest, work: () => Promise<T>): Promise<T> {
    const { purpose, address, isPatient } = request
    // Those without an address are one more caller beside the addresses.
    const network = address ? networkOf(address) : ''
    if (!isPatient) this.#requireRoom(purpose, network)
    await new Promise<void>((enter) => {
      this.#waiting[purpose].push(network, enter)
      this.#admit()
    })
    try {
      return await work()
    } finally {
      this.#running--
      this.#admit()
    }
  }

  /** How many wait now, and how many were refused since the start. */
  figures(purpose: HashingPurpose): { readonly waiting: number; readonly refused: number } {
    return { waiting: this.#waiting[purpose].length, refused: this.#refused[purpose] }
  }

  #requireRoom(purpose: HashingPurpose, network: string): void {
    const room = Math.ceil(this.options.maxWaiting / 2)
    const line = this.#waiting[purpose]
    // Registrations of an address are counted before they come here.
    const ofNetwork = purpose === 'login' && network !== '' ? line.lengthOf(network) : 0
    if (line.length < room && ofNetwork < Math.ceil(room / addressShare)) return
    this.#refused[purpose]++
    throw new AppError('unavailable', 'too many others are logging in or registering', {
      retryAfterSeconds,
    })
  }

  #admit(): void {
    for (let next = this.#next(); next !== null; next = this.#next()) {
      this.#last = next
      this.#running++
      this.#waiting[next].shift()?.()
    }
  }

  #next(): HashingPurpose | null {
    const { login, registration } = this.#waiting
    if (this.#running >= this.options.parallel) return null
    if (login.length > 0 && (registration.length === 0 || this.#last === 'registration'))
      return 'login'
    return registration.length > 0 ? 'registration' : null
  }
}
