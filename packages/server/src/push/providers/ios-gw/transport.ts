import {
  type GatewayAnswer,
  type GatewayRequest,
  type Transport,
  TransportError,
} from '../runtime/transport.js'
import { type ConnectionOptions, Http2Connection, StreamRefused } from './connection.js'

/** Number of connections that a request may try when each one refuses its stream. */
const maxConnectionsPerRequest = 3

function endedEarly(): TransportError {
  const options = { code: 'connection_ended', mayBeDelivered: false }
  return new TransportError('the gateway ended the connection at once', options)
}

/**
 * Sends requests over a few lasting HTTP/2 connections. A request waits for a free stream. If a
 * gateway ends a connection without processing a request, another connection carries it.
 */
export class Http2Transport implements Transport {
  readonly #connections = new Set<Http2Connection>()
  /**
   * Requests that wait for a stream. One continues when a stream ends; all look again when a
   * connection ends or a limit changes.
   */
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

  /** Number of open connections that accept requests. */
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

  /** Wakes all waiting requests; each then looks for a free stream. */
  #wakeAll(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}
