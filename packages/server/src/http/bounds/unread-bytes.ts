import type { Socket } from 'node:net'
import { isBoundToProgress } from '../deadlines.js'

export interface UnreadBounds {
  /** Of all connections. */
  readonly unreadBytes: number
  /** How long a client may leave an answer unread; see {@link slowestBytesPerMs}. */
  readonly stallMs: number
}

/** What a connection has of answers that its client has not taken. */
export interface UnreadOf {
  readonly socket: Socket
  unreadBytes: number
  /** What the client had taken of all answers when it was last looked at. */
  takenBytes: number
  /** When it had last taken something, as performance.now(). */
  progressAt: number
}

/** An answer that goes out in one piece shows no progress before it is out, so a large one gets more time: for a line of 64 KiB/s. */
const slowestBytesPerMs = 65.536
/** A client that has taken something this recently is reading. */
const freshMs = 100
/** Up to this share of what may be unread it is spared. */
const shareOfFresh = 1.25
/** When too much is unread, so much of it is left. */
const shareLeft = 0.9

/**
 * Answers that wait in memory because their clients do not read them. When there are too many bytes of them, the connections that hold most
 * of them for longest are closed; a client that has read just now is spared for as long as possible.
 */
export class UnreadBytes<Connection extends UnreadOf> {
  readonly #behind = new Set<Connection>()
  #total = 0
  #shrunkAt = 0

  constructor(
    private readonly bounds: UnreadBounds,
    private readonly close: (
      connection: Connection,
      reason: 'unread_bytes' | 'unread_stalled',
    ) => void,
  ) {}

  get total(): number {
    return this.#total
  }

  add(connection: Connection, bytes: number): void {
    if (!this.#behind.has(connection)) {
      this.#behind.add(connection)
      connection.takenBytes = takenBytes(connection)
      connection.progressAt = performance.now()
    }
    connection.unreadBytes += bytes
    this.#total += bytes
    if (this.#total > this.bounds.unreadBytes) this.#shrink(performance.now())
  }

  remove(connection: Connection, bytes: number): void {
    // Of a connection that was forgotten nothing is counted.
    if (!this.#behind.has(connection)) return
    connection.unreadBytes -= bytes
    this.#total -= bytes
    if (connection.unreadBytes === 0) this.#behind.delete(connection)
  }

  forget(connection: Connection): void {
    if (this.#behind.delete(connection)) this.#total -= connection.unreadBytes
  }

  /** Closes what may be closed when there is too much. @returns whether there still is */
  isFull(): boolean {
    if (this.#total > this.bounds.unreadBytes) this.#shrink(performance.now())
    return this.#total > this.bounds.unreadBytes
  }

  sweep(now: number): void {
    const { stallMs } = this.bounds
    for (const connection of this.#behind) {
      // A file has a time of its own.
      if (isBoundToProgress(connection.socket)) continue
      const patienceMs = stallMs + connection.socket.writableLength / slowestBytesPerMs
      if (idleMs(connection, now) > patienceMs) this.close(connection, 'unread_stalled')
    }
  }

  #shrink(now: number): void {
    const { unreadBytes } = this.bounds
    const isFarBeyond = this.#total > shareOfFresh * unreadBytes
    // To look at all is not for every answer.
    if (!isFarBeyond && now - this.#shrunkAt < freshMs / 5) return
    this.#shrunkAt = now
    const slowest = [...this.#behind]
      .map((connection) => ({ connection, ms: idleMs(connection, now) }))
      .filter(({ ms }) => isFarBeyond || ms >= freshMs)
      .sort((a, b) => weight(b) - weight(a))
    for (const { connection } of slowest) {
      if (this.#total <= unreadBytes * shareLeft) break
      this.close(connection, 'unread_bytes')
    }
  }
}

function weight({ connection, ms }: { readonly connection: UnreadOf; readonly ms: number }) {
  return connection.unreadBytes * (ms + 1)
}

/** For how long the client has taken nothing. */
function idleMs(connection: UnreadOf, now: number): number {
  const taken = takenBytes(connection)
  if (taken !== connection.takenBytes) {
    connection.takenBytes = taken
    connection.progressAt = now
  }
  return now - connection.progressAt
}

function takenBytes({ socket }: UnreadOf): number {
  return socket.bytesWritten - socket.writableLength
}
