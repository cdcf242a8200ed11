import type { Socket } from 'node:net'
import { Client, type Dispatcher } from 'undici'

/** A request without its origin. */
export interface ConnectionRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer | null
  readonly signal: AbortSignal
}

/** An idle connection is closed after this time, or earlier if the server asks for it. */
export const keepAliveMs = 10_000

/** The most responses of 1xx to a request: a server could send them without end. */
const maxInterim = 10

/** One connection, for one request at a time. */
export class OutboundConnection {
  readonly #client: Client

  /** @param socket connected; it belongs to the connection from now on */
  constructor(
    readonly origin: string,
    private readonly socket: Socket,
  ) {
    let isFree = true
    this.#client = new Client(origin, {
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      connect: (_, callback) => {
        const isReady = isFree && this.isOpen
        isFree = false
        // The client is not prepared for a connector that calls back before it returns.
        queueMicrotask(() =>
          isReady ? callback(null, socket) : callback(new ConnectionLostError(), null),
        )
      },
    })
    this.#client.once('disconnect', () => void this.#client.destroy())
  }

  get isOpen(): boolean {
    return !this.socket.destroyed
  }

  onClosed(closed: () => void): void {
    this.socket.once('close', closed)
  }

  /** Resolves when the answer begins. Rejects when the connection ends before. */
  send(request: ConnectionRequest): Promise<Dispatcher.ResponseData> {
    let interim = 0
    const onInfo = () => {
      if (++interim > maxInterim) throw new Error(`more than ${maxInterim} interim responses`)
    }
    return this.#client.request({ ...request, onInfo })
  }

  destroy(): void {
    this.socket.destroy()
  }
}

/** The server has closed the connection before the request. */
class ConnectionLostError extends Error {
  readonly code = 'ECONNRESET'
  override readonly message = 'the connection was closed'
}

/** Open connections, and those without a request. */
export class OutboundConnections {
  readonly #open = new Set<OutboundConnection>()
  /** By origin. */
  readonly #idle = new Map<string, OutboundConnection[]>()

  /** @param socket connected; it belongs to the connection from now on */
  add(origin: string, socket: Socket): OutboundConnection {
    const connection = new OutboundConnection(origin, socket)
    this.#open.add(connection)
    connection.onClosed(() => {
      this.#open.delete(connection)
      this.#setIdle(origin, (idle) => idle.filter((each) => each !== connection))
    })
    return connection
  }

  /** Returns the idle connection that was used last. */
  take(origin: string): OutboundConnection | null {
    const connection = this.#idle.get(origin)?.at(-1) ?? null
    this.#setIdle(origin, (idle) => idle.slice(0, -1))
    return connection
  }

  /** Keeps a connection after its request, if it is open. */
  giveBack(connection: OutboundConnection): void {
    if (connection.isOpen) this.#setIdle(connection.origin, (idle) => [...idle, connection])
  }

  destroy(): void {
    for (const connection of this.#open) connection.destroy()
  }

  #setIdle(origin: string, change: (idle: OutboundConnection[]) => OutboundConnection[]): void {
    const idle = change(this.#idle.get(origin) ?? [])
    if (idle.length > 0) this.#idle.set(origin, idle)
    else this.#idle.delete(origin)
  }
}
