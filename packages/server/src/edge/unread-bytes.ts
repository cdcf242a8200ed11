import type { Socket } from 'node:net'
import { isBoundToProgress } from './deadlines.js'

/** Bounds on answers that clients have not read yet. */
export interface UnreadBounds {
  /** Most unread bytes of all connections. */
  readonly unreadBytes: number
  /** The time for which a client may leave bytes unread; see {@link slowestBytesPerMs}. */
  readonly stallMs: number
}

/** The unread bytes of a connection. */
export interface UnreadOf {
  readonly socket: Socket
  /** Multiplies the time for which bytes may be unread. */
  readonly stallFactor: number
  unreadBytes: number
  /** All bytes that the client had taken at the last look. */
  takenBytes: number
  /** When the client had last taken bytes, as performance.now(). */
  progressAt: number
}

/**
 * A write shows no progress before the whole of it is out, so a large one gets more time: that of a
 * line of 64 KiB/s.
 */
const slowestBytesPerMs = 65.536
/** A client that has taken bytes this recently is reading. */
const freshMs = 100
/** Up to this share of the bound, clients that are reading are spared. */
const shareOfFresh = 1.25
/** The share of the bound that is left after connections were closed. */
const shareLeft = 0.9

/**
 * Bounds the bytes in memory that clients do not read. When there are too many, it closes the
 * connections that hold most of them for longest. A client that has read just now is spared for as
 * long as possible.
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
    // A connection that was forgotten counts no longer.
    if (!this.#behind.has(connection)) return
    connection.unreadBytes -= bytes
    this.#total -= bytes
    if (connection.unreadBytes === 0) this.#behind.delete(connection)
  }

  forget(connection: Connection): void {
    if (this.#behind.delete(connection)) this.#total -= connection.unreadBytes
  }

  /** Closes slow readers when too much is unread. @returns whether too much is unread even then */
  isFull(): boolean {
    if (this.#total > this.bounds.unreadBytes) this.#shrink(performance.now())
    return this.#total > this.bounds.unreadBytes
  }

  sweep(now: number): void {
    const { stallMs } = this.bounds
    for (const connection of this.#behind) {
      // A file has its own time limit.
      if (isBoundToProgress(connection.socket)) continue
      const limitMs =
        stallMs * connection.stallFactor + connection.socket.writableLength / slowestBytesPerMs
      if (idleMs(connection, now) > limitMs) this.close(connection, 'unread_stalled')
    }
  }

  #shrink(now: number): void {
    const { unreadBytes } = this.bounds
    const isFarBeyond = this.#total > shareOfFresh * unreadBytes
    // Looking at all connections for every write would cost too much.
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

/** The time for which the client has taken no byte. */
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
