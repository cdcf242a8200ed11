/**
 * The deadline of statements, and the detection of a PostgreSQL that stalls: a halted process, or a
 * network that swallows packets. A socket without an answer looks like one with a slow answer, so
 * only time tells.
 */
import { Socket } from 'node:net'

const tickMs = 250
/** The time for an answer on a new connection while the server stalls. */
const answerTimeoutMs = 2_000
/**
 * After a refused connection, callers fail with the same error for this time, and the server is
 * left alone.
 */
const refusalMs = 200

/** PostgreSQL has not answered in time; the outcome of the statement is unknown. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  readonly code = 'ETIMEDOUT'
}

interface WatchOptions {
  /** A statement without any answer for this long ends with its connection. */
  readonly deadlineMs: number
  /** Connects once more and asks. @returns false when no answer of any kind came in time */
  isAnswering(timeoutMs: number): Promise<boolean>
  readonly observer: StallObserver
}

/** Events of a PostgreSQL that stalls. */
export interface StallObserver {
  /** A statement was given up. */
  gaveUp(): void
  /** The server answers on no connection. */
  stalled(): void
}

interface WatchedConnection {
  readonly socket: Socket
  state: 'connecting' | 'idle' | 'used'
  bytesRead: number
  quietTicks: number
}

/**
 * One timer for all connections compares the bytes read four times a second, so statements
 * themselves cost nothing. It counts its own ticks, not the time: a process that was halted itself
 * first reads the answers that arrived in the pause.
 *
 * A statement that is given up while no other connection has read anything means a stall: all
 * connections are closed, and new ones are refused until the server answers again.
 */
export class ConnectionWatch {
  readonly #options: WatchOptions
  readonly #connections = new Map<Socket, WatchedConnection>()
  readonly #sockets = new WeakMap<object, Socket>()
  #timer: NodeJS.Timeout | undefined
  #ticks = 0
  /** The tick at which any connection last read something. */
  #progressAt = Number.NEGATIVE_INFINITY
  #stall: NoAnswerError | null = null
  #refusal: { readonly error: Error; readonly until: number } | null = null

  constructor(options: WatchOptions) {
    this.#options = options
  }

  get deadlineMs(): number {
    return this.#options.deadlineMs
  }

  /** @returns a socket for a new connection; it is watched until it closes */
  open(): Socket {
    const socket = new Socket()
    this.#connections.set(socket, { socket, state: 'connecting', bytesRead: 0, quietTicks: 0 })
    socket.once('close', () => this.#remove(socket))
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref()
    return socket
  }

  /** Records the client that uses the socket. */
  belongs(client: object, socket: Socket): void {
    this.#sockets.set(client, socket)
  }

  /** The connection of a client passes to a caller, or comes back. */
  mark(client: object, state: 'idle' | 'used'): void {
    const socket = this.#sockets.get(client)
    const connection = socket && this.#connections.get(socket)
    if (!connection) return
    connection.state = state
    connection.quietTicks = 0
  }

  /** The reason why connecting is of no use now, or null. */
  get obstacle(): Error | null {
    if (this.#stall) return this.#stall
    if (this.#refusal && performance.now() >= this.#refusal.until) this.#refusal = null
    return this.#refusal?.error ?? null
  }

  /** Connecting has failed. */
  refused(error: Error): void {
    if (error !== this.obstacle) this.#refusal = { error, until: performance.now() + refusalMs }
  }

  /** Closes all connections without waiting for the server, and stops asking it. */
  close(): void {
    this.#stall = null
    for (const socket of this.#connections.keys()) socket.destroy()
  }

  #remove(socket: Socket): void {
    this.#connections.delete(socket)
    if (this.#connections.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    this.#ticks++
    const deadlineTicks = this.#options.deadlineMs / tickMs
    for (const connection of this.#connections.values()) this.#look(connection)
    for (const { socket, state, quietTicks } of this.#connections.values()) {
      if (state !== 'used' || quietTicks < deadlineTicks) continue
      this.#giveUp(socket)
      if (this.#ticks - this.#progressAt >= deadlineTicks) void this.#refuseUntilAnswered()
    }
  }

  #look(connection: WatchedConnection): void {
    const { bytesRead } = connection.socket
    if (bytesRead !== connection.bytesRead) {
      connection.bytesRead = bytesRead
      connection.quietTicks = 0
      this.#progressAt = this.#ticks
    } else if (connection.state === 'used') connection.quietTicks++
  }

  #giveUp(socket: Socket): void {
    this.#options.observer.gaveUp()
    socket.destroy(
      new NoAnswerError(`PostgreSQL has not answered for ${this.#options.deadlineMs} ms`),
    )
  }

  async #refuseUntilAnswered(): Promise<void> {
    if (this.#stall) return
    const { isAnswering, observer } = this.#options
    const stall = new NoAnswerError('PostgreSQL answers on no connection')
    this.#stall = stall
    observer.stalled()
    for (const socket of this.#connections.keys()) socket.destroy(stall)
    while (this.#stall === stall && !(await isAnswering(answerTimeoutMs)));
    if (this.#stall === stall) this.#stall = null
  }
}
