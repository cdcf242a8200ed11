/**
 * Connections leave descriptors to the rest of the service: to the database, files and other services. Without any, nothing can be
 * answered at all, and a connection that the system accepts is closed again without a word.
 */
import { readdirSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'

/** For what the service opens beside connections of callers. */
const reserve = 64
/** So many more connections are taken for as long as it takes to refuse their call. */
const surplus = 32
const surplusMs = 2_000
const leastRoom = 8

export interface ConnectionRoomObserver {
  /** A connection was one too many. */
  refused(): void
}

/** Which connections are too many for the descriptors of the process. */
export class ConnectionRoom {
  readonly #surplus = new WeakSet<Socket>()
  #open = 0

  /** @param limit connections whose calls are served */
  constructor(
    private readonly limit: number,
    private readonly observer: ConnectionRoomObserver,
  ) {}

  /** A connection was accepted. */
  opened(socket: Socket): void {
    this.#open++
    socket.once('close', () => this.#open--)
    if (this.#open <= this.limit) return
    this.observer.refused()
    this.#surplus.add(socket)
    if (this.#open > this.limit + surplus) socket.destroy()
    else {
      const timer = setTimeout(() => socket.destroy(), surplusMs).unref()
      socket.once('close', () => clearTimeout(timer))
    }
  }

  /** Its call is to be refused and the connection closed. */
  isSurplus(socket: Socket): boolean {
    return this.#surplus.has(socket)
  }
}

/**
 * How many connections the descriptors of this process allow for, counted once the rest is open.
 * @param others what the rest may still open, such as connections to a database
 */
export function connectionLimit(others: number): number {
  const limit = descriptorLimit()
  if (limit === null) return Number.POSITIVE_INFINITY
  const free = limit - readdirSync('/proc/self/fd').length - others
  // A limit that is very low is shared.
  return Math.max(leastRoom, free - surplus - Math.min(reserve, Math.floor(free / 3)))
}

/** @returns null where the system does not tell, or has none */
function descriptorLimit(): number | null {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    const text = /^Max open files +(\d+)/m.exec(limits)?.[1]
    return text === undefined ? null : Number(text)
  } catch {
    return null
  }
}
