import type { Socket } from 'node:net'

/**
 * From this number of early requests in one turn of the event loop, all connections wait for the
 * next turn.
 */
const earlyPerTurn = 1_000

interface ThrottledConnections {
  readonly sockets: () => Iterable<Socket>
  /** The network of an open connection; null: not known. */
  networkOf(socket: Socket): string | null | undefined
  /** Reports whether no request of the connection waits, so that more of it may be read. */
  mayRead(socket: Socket): boolean
}

/**
 * Limits what the service reads in one turn of the event loop. Node parses all that a connection
 * has sent at once, and keeps it in memory until the turn ends. When early requests, those that
 * arrive while their connection may begin none, become too many, nothing more is read in this turn.
 * Afterwards the network that sent the last of them is read one connection per turn.
 */
export class ReadThrottle {
  #early = 0
  #earlyNetwork: string | null = null
  /** Connections that are read again in the next turn. */
  #paused: Socket[] = []
  /** Connections that are read one per turn. */
  readonly #slowed: Socket[] = []

  constructor(private readonly connections: ThrottledConnections) {}

  /** Counts an early request. @param network null: not known; undefined: as the request before */
  arrivedEarly(network?: string | null): void {
    if (network !== undefined) this.#earlyNetwork = network
    if (++this.#early === 1) setImmediate(() => this.#endTurn())
    if (this.#early !== earlyPerTurn) return
    for (const socket of this.connections.sockets()) {
      if (socket.isPaused()) continue
      socket.pause()
      this.#paused.push(socket)
    }
  }

  #endTurn(): void {
    const paused = this.#paused
    this.#early = 0
    this.#paused = []
    for (const socket of paused)
      if (this.connections.networkOf(socket) === this.#earlyNetwork) this.#readSlowly(socket)
      else this.#read(socket)
  }

  #readSlowly(socket: Socket): void {
    if (this.#slowed.push(socket) > 1) return
    const next = () => {
      const [first] = this.#slowed
      if (first) this.#read(first)
      this.#slowed.shift()
      if (this.#slowed.length > 0) setImmediate(next)
    }
    setImmediate(next)
  }

  #read(socket: Socket): void {
    if (this.connections.mayRead(socket)) socket.resume()
  }
}
