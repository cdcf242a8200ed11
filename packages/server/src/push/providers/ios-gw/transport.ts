import {
  type GatewayAnswer,
  type GatewayRequest,
  type Transport,
  TransportError,
} from '../runtime/transport.js'
import { type ConnectionOptions, Http2Connection, StreamRefused } from './connection.js'

/** How often a request that a connection did not look at is given to another one. */
const maxConnectionsPerRequest = 3

function endedEarly(): TransportError {
  const options = { code: 'connection_ended', mayBeDelivered: false }
  return new TransportError('the gateway ended the connection at once', options)
}

/**
 * Requests over a few lasting connections of HTTP/2. A request waits for a free stream; what a
 * gateway has not looked at when it ends a connection goes over another one.
 */
export class Http2Transport implements Transport {
  readonly #connections = new Set<Http2Connection>()
  /** For a stream: one goes on when a stream ends, all when there is a connection less or another limit. */
  readonly #waiting: (() => void)[] = []

  constructor(private readonly options: Omit<ConnectionOptions, 'limitChanged'>) {}

  async request(request: GatewayRequest): Promise<GatewayAnswer> {
    for (let tries = 1; ; tries++) {
      const connection = await this.#connectionWithRoom()
      try {
        return await connection.request(request)
      } catch (error) {
        if (!(error instanceof StreamRefused) || tries >= maxConnectionsPerRequest) throw error
      } finally {
        this.#waiting.shift()?.()
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#connections].map((connection) => connection.close()))
  }

  /** Open connections that still take requests. */
  get connections(): number {
    return [...this.#connections].filter(({ isClosing }) => !isClosing).length
  }

  async #connectionWithRoom(): Promise<Http2Connection> {
    for (;;) {
      for (const connection of this.#connections) if (connection.reserve()) return connection
      const opening = [...this.#connections].find(
        ({ isReady, isClosing }) => !isReady && !isClosing,
      )
      const next =
        opening ??
        (this.connections < (this.options.limits.maxConnections ?? 1) ? this.#open() : null)
      if (next === null) await new Promise<void>((resolve) => this.#waiting.push(resolve))
      else await this.#becomesReady(next)
    }
  }

  async #becomesReady(connection: Http2Connection): Promise<void> {
    await connection.ready
    if (!connection.isReady) throw connection.error ?? endedEarly()
  }

  #open(): Http2Connection {
    const connection = new Http2Connection({
      ...this.options,
      limitChanged: () => this.#wakeAll(),
    })
    this.#connections.add(connection)
    void connection.gone.then(() => {
      this.#connections.delete(connection)
      this.#wakeAll()
    })
    return connection
  }

  /** All of them look again: which of them finds room is decided then. */
  #wakeAll(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
