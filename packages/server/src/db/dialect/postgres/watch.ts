/**
 * Notices a PostgreSQL that has stopped answering: a process that is halted, a network that swallows packets. Nothing fails then by
 * itself, for a socket without an answer looks like one whose answer takes long.
 */
import { Socket } from 'node:net'

const tickMs = 250
/** A connection that has been silent for so long makes one look whether the server answers at all. */
const suspectTicks = 4
const probeTimeoutMs = 2_000
/** So many probes in a row without an answer: a machine with far too much to do may miss one. */
const probesToStall = 2
/** After a connection was refused, those who want one are told the same for so long, and the server is left alone. */
const refusalMs = 200

/** PostgreSQL has not answered in time; what became of the statement is unknown. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  readonly code = 'ETIMEDOUT'
}

export interface WatchOptions {
  /** A statement of which nothing is heard for so long ends with its connection. */
  readonly deadlineMs: number
  /** Connects once more and asks. @returns false when there was no answer of any kind within the time */
  probe(timeoutMs: number): Promise<boolean>
  readonly observer: StallObserver
}

/** What is told of a PostgreSQL that stalls. */
export interface StallObserver {
  /** A statement was given up. */
  gaveUp(): void
  /** The server answers nobody any more. */
  stalled(): void
}

interface WatchedConnection {
  readonly socket: Socket
  /** Without a deadline of its own; it ends when the server answers nobody. */
  readonly isPatient: boolean
  state: 'connecting' | 'idle' | 'used'
  bytesRead: number
  quietTicks: number
}

/**
 * One timer for all connections, which looks four times a second at what has been read: statements themselves cost nothing. It counts
 * its own ticks, not the time, so that a process that was halted itself gives the answers that came meanwhile a chance.
 */
export class ConnectionWatch {
  readonly #options: WatchOptions
  readonly #connections = new Map<Socket, WatchedConnection>()
  readonly #sockets = new WeakMap<object, Socket>()
  #timer: NodeJS.Timeout | undefined
  #progress = 0
  #stall: NoAnswerError | null = null
  #isProbing = false
  #unansweredProbes = 0
  #refusal: { readonly error: Error; readonly until: number } | null = null

  constructor(options: WatchOptions) {
    this.#options = options
  }

  get deadlineMs(): number {
    return this.#options.deadlineMs
  }

  /** @returns a socket for a connection that is to be made; it is watched until it closes */
  open(isPatient: boolean): Socket {
    const socket = new Socket()
    const state = 'connecting'
    this.#connections.set(socket, { socket, isPatient, state, bytesRead: 0, quietTicks: 0 })
    socket.once('close', () => this.#remove(socket))
    this.#timer ??= setInterval(() => this.#tick(), tickMs).unref()
    return socket
  }

  /** Whose connection the socket is. */
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

  /** Why it would be of no use to connect now; null: try. */
  get obstacle(): Error | null {
    if (this.#stall) return this.#stall
    if (this.#refusal && performance.now() >= this.#refusal.until) this.#refusal = null
    return this.#refusal?.error ?? null
  }

  /** Connecting has failed. */
  refused(error: Error): void {
    if (error !== this.obstacle) this.#refusal = { error, until: performance.now() + refusalMs }
  }

  /** Ends the connections of one kind at once, without waiting for the server's part. */
  cut(isPatient: boolean): void {
    for (const connection of this.#connections.values())
      if (connection.isPatient === isPatient) connection.socket.destroy()
  }

  #remove(socket: Socket): void {
    this.#connections.delete(socket)
    this.#stopWhenDone()
  }

  #stopWhenDone(): void {
    if (this.#connections.size > 0 || this.#stall) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    const deadlineTicks = this.#options.deadlineMs / tickMs
    let isSuspect = this.#stall !== null
    for (const connection of this.#connections.values()) {
      if (connection.state === 'idle') continue
      this.#look(connection)
      if (connection.quietTicks >= suspectTicks) isSuspect = true
      const isLate = connection.quietTicks >= deadlineTicks && !connection.isPatient
      if (isLate && connection.state === 'used') this.#giveUp(connection)
    }
    if (isSuspect && !this.#isProbing) void this.#probe()
  }

  #look(connection: WatchedConnection): void {
    const { bytesRead } = connection.socket
    if (bytesRead === connection.bytesRead) {
      connection.quietTicks++
      return
    }
    connection.bytesRead = bytesRead
    connection.quietTicks = 0
    this.#progress++
  }

  #giveUp({ socket }: WatchedConnection): void {
    this.#options.observer.gaveUp()
    socket.destroy(
      new NoAnswerError(`PostgreSQL has not answered for ${this.#options.deadlineMs} ms`),
    )
  }

  async #probe(): Promise<void> {
    const { probe, observer } = this.#options
    this.#isProbing = true
    const progress = this.#progress
    const isAnswered = await probe(probeTimeoutMs)
    this.#isProbing = false
    if (isAnswered && this.#stall) {
      this.#stall = null
      this.#stopWhenDone()
    }
    // A server that has too much to do for a new connection still serves those it has.
    if (isAnswered || progress !== this.#progress) this.#unansweredProbes = 0
    else this.#unansweredProbes++
    if (this.#stall || this.#unansweredProbes < probesToStall) return
    this.#stall = new NoAnswerError('PostgreSQL answers on no connection')
    observer.stalled()
    for (const socket of this.#connections.keys()) socket.destroy(this.#stall)
  }
}
