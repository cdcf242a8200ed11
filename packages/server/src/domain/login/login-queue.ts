import { AppError } from '@hermod/protocol'
import { FairLine } from '../../lib/concurrency/fair-line.js'
import { networkOf } from '../../lib/limits/network.js'

/** What somebody waits for; new passwords, and what disables and deletes users, count as logins. */
export type LoginPurpose = 'login' | 'registration'

/** Those that take turns: strangers who log in, strangers who register, and app servers with an Admin token. */
export const loginLines = ['login', 'registration', 'admin'] as const
export type LoginLine = (typeof loginLines)[number]

/** Who logs in or registers, or has it done. */
export interface LoginCaller {
  readonly appId: string
  /** The client's network address; null: the app's own server asks. */
  readonly address: string | null
}

/** A step of a login or of a registration. */
export interface LoginRequest extends LoginCaller {
  readonly purpose: LoginPurpose
  /** Waits as long as it takes: for lists of users, of which few are asked for at a time. */
  readonly isPatient?: boolean
}

export interface LoginQueueOptions {
  /** How many are worked on at once. */
  readonly parallel: number
  /** How many may wait, half of them for logins and half for registrations; those with an Admin token are not among them. */
  readonly maxWaiting: number
  /** The same for the Admin tokens of one app. */
  readonly maxWaitingOfApp: number
}

/** Of the logins that may wait, one client address has at most a quarter. */
const addressShare = 4
/** Some hundred of them take about that long. */
const retryAfterSeconds = 2

/**
 * The lines in which logins and registrations wait for a step that takes long: for their password to be hashed, which costs more than all
 * else that a stranger can ask for, and then for the database. They are bounded: what
 * finds its own full is refused. The lines take turns, and in each of them so do client addresses or apps, so that nobody waits
 * for more than a few of those of another one, however many there are. An app server registers and logs in users by the
 * hundred, so it has a bound of its own, and no flood of strangers uses that up.
 */
export class LoginQueue {
  readonly #waiting: Readonly<Record<LoginLine, FairLine<() => void>>> = {
    login: new FairLine(),
    registration: new FairLine(),
    admin: new FairLine(),
  }
  readonly #refused: Record<LoginLine, number> = { login: 0, registration: 0, admin: 0 }
  #running = 0
  /** Whose turn it is: an index of {@link loginLines}. */
  #turn = 0

  constructor(private readonly options: LoginQueueOptions) {}

  /** @throws AppError unavailable when too many wait */
  async run<T>(request: LoginRequest, work: () => Promise<T>): Promise<T> {
    const { purpose, address, appId } = request
    const line = address === null ? 'admin' : purpose
    const key = address === null ? `${purpose} ${appId}` : networkOf(address)
    if (!request.isPatient) this.#requireRoom(line, key)
    await new Promise<void>((enter) => {
      this.#waiting[line].push(key, enter)
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
  figures(line: LoginLine): { readonly waiting: number; readonly refused: number } {
    return { waiting: this.#waiting[line].length, refused: this.#refused[line] }
  }

  #requireRoom(line: LoginLine, key: string): void {
    if (this.#hasRoom(line, key)) return
    this.#refused[line]++
    throw new AppError('unavailable', 'too many others log in, register or change accounts', {
      retryAfterSeconds,
    })
  }

  #hasRoom(line: LoginLine, key: string): boolean {
    const { maxWaiting, maxWaitingOfApp } = this.options
    const waiting = this.#waiting[line]
    if (line === 'admin') return waiting.lengthOf(key) < Math.ceil(maxWaitingOfApp / 2)
    const room = Math.ceil(maxWaiting / 2)
    if (waiting.length >= room) return false
    // Registrations of an address are counted before they come here.
    return line === 'registration' || waiting.lengthOf(key) < Math.ceil(room / addressShare)
  }

  #admit(): void {
    while (this.#running < this.options.parallel) {
      const enter = this.#next()
      if (enter === undefined) return
      this.#running++
      enter()
    }
  }

  /** The first one of the line whose turn it is, or of the next ones. */
  #next(): (() => void) | undefined {
    for (let tried = 0; tried < loginLines.length; tried++) {
      const line = loginLines[this.#turn] as LoginLine
      this.#turn = (this.#turn + 1) % loginLines.length
      const enter = this.#waiting[line].shift()
      if (enter) return enter
    }
    return undefined
  }
}
