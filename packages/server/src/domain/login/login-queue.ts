import { AppError } from '@hermod/protocol'
import { FairQueue } from '../../lib/concurrency/fair-queue.js'
import { networkOf } from '../../lib/limits/network.js'

/** The kinds of queued work. Password changes, disabling and deletion count as logins. */
export type LoginPurpose = 'login' | 'registration'

/**
 * The classes that are served in turn: logins and registrations of clients, and calls of app
 * servers with an Admin token.
 */
export const loginClasses = ['login', 'registration', 'admin'] as const
type LoginClass = (typeof loginClasses)[number]

/** The caller of a login or registration. */
export interface LoginCaller {
  readonly appId: string
  /** The client's network address; null for the app's own server. */
  readonly address: string | null
}

/** A step of a login or of a registration. */
export interface LoginRequest extends LoginCaller {
  readonly purpose: LoginPurpose
  /** Waits however many others wait: for lists of users, a few at a time. */
  readonly isUnbounded?: boolean
}

interface LoginQueueOptions {
  /** Works that run at once. */
  readonly parallel: number
  /**
   * Callers that may wait, half of them for logins and half for registrations. Callers with an
   * Admin token do not count.
   */
  readonly maxWaiting: number
  /** The same for the Admin tokens of one app. */
  readonly maxWaitingOfApp: number
}

/** One client address has at most a quarter of the logins that may wait. */
const addressShare = 4
/** A few hundred logins take about that long. */
const retryAfterSeconds = 2

/**
 * The queues in which logins and registrations wait for a slow step: hashing the password, the most
 * expensive call of an anonymous client, and then the database. Each class has a bounded queue. The
 * classes are served in turn, and within each class the client addresses or apps, so that a flood
 * from one of them delays the others by a few steps only. An app server registers and logs in
 * hundreds of users, so it has a separate bound, which a flood of clients cannot use up.
 */
export class LoginQueue {
  readonly #waiting: Readonly<Record<LoginClass, FairQueue<() => void>>> = {
    login: new FairQueue(),
    registration: new FairQueue(),
    admin: new FairQueue(),
  }
  readonly #refused: Record<LoginClass, number> = { login: 0, registration: 0, admin: 0 }
  #running = 0
  /** The index of the next class in {@link loginClasses}. */
  #turn = 0

  constructor(private readonly options: LoginQueueOptions) {}

  /** @throws AppError unavailable when too many wait */
  async run<T>(request: LoginRequest, work: () => Promise<T>): Promise<T> {
    const { purpose, address, appId } = request
    const loginClass = address === null ? 'admin' : purpose
    const key = address === null ? `${purpose} ${appId}` : networkOf(address)
    if (!request.isUnbounded) this.#requireRoom(loginClass, key)
    await new Promise<void>((enter) => {
      this.#waiting[loginClass].push(key, enter)
      this.#admit()
    })
    try {
      return await work()
    } finally {
      this.#running--
      this.#admit()
    }
  }

  /** The number that waits now, and the number refused since the start. */
  figures(loginClass: LoginClass): { readonly waiting: number; readonly refused: number } {
    return { waiting: this.#waiting[loginClass].length, refused: this.#refused[loginClass] }
  }

  #requireRoom(loginClass: LoginClass, key: string): void {
    if (this.#hasRoom(loginClass, key)) return
    this.#refused[loginClass]++
    throw new AppError('unavailable', 'too many others log in, register or change accounts', {
      retryAfterSeconds,
    })
  }

  #hasRoom(loginClass: LoginClass, key: string): boolean {
    const { maxWaiting, maxWaitingOfApp } = this.options
    const waiting = this.#waiting[loginClass]
    if (loginClass === 'admin') return waiting.lengthOf(key) < Math.ceil(maxWaitingOfApp / 2)
    const room = Math.ceil(maxWaiting / 2)
    if (waiting.length >= room) return false
    // Registrations of an address are limited before they reach the queue.
    return loginClass === 'registration' || waiting.lengthOf(key) < Math.ceil(room / addressShare)
  }

  #admit(): void {
    while (this.#running < this.options.parallel) {
      const enter = this.#next()
      if (enter === undefined) return
      this.#running++
      enter()
    }
  }

  /** Takes the first caller of the next class that has any. */
  #next(): (() => void) | undefined {
    for (let tried = 0; tried < loginClasses.length; tried++) {
      const loginClass = loginClasses[this.#turn] as LoginClass
      this.#turn = (this.#turn + 1) % loginClasses.length
      const enter = this.#waiting[loginClass].shift()
      if (enter) return enter
    }
    return undefined
  }
}
