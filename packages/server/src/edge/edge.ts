import type { Server, Socket } from 'node:net'
import { Bodies, type BodyBounds } from './bodies.js'
import {
  addressReader,
  baseUrlReader,
  proxyTest,
  type RequestReader,
  type TrustProxy,
} from './client-address.js'
import { type ConnectionBounds, Connections } from './connections.js'
import type { BoundsObserver } from './observer.js'
import { Origins } from './origins.js'

interface EdgeOptions {
  readonly bounds: ConnectionBounds & BodyBounds
  /** Connections that the file descriptors of the process allow for; unlimited by default. */
  readonly descriptorLimit?: number
  readonly observer: BoundsObserver
  readonly trustProxy: TrustProxy
  /** The address at which all clients reach the service; null: each request carries it. */
  readonly publicUrl: string | null
  /** Origins of pages that may call. */
  readonly origins: '*' | readonly string[]
}

const sweepIntervalMs = 1_000

/**
 * The ground of every transport: bounds what the clients of one server can make it hold, and says
 * where a request comes from. A transport accepts connections through {@link accept}, reports
 * requests and unread bytes to {@link connections} and bodies to {@link bodies}.
 */
export class Edge {
  readonly connections: Connections
  readonly bodies: Bodies
  readonly origins: Origins
  /** The network address of the client of a request, for limits. */
  readonly addressOf: RequestReader
  /**
   * The address at which the client has reached the service, without a slash at the end:
   * `https://chat.example.org`.
   */
  readonly baseUrlOf: RequestReader

  constructor({ bounds, observer, trustProxy, publicUrl, origins, ...options }: EdgeOptions) {
    const { descriptorLimit = Number.POSITIVE_INFINITY } = options
    const isProxy = proxyTest(trustProxy)
    this.connections = new Connections({ bounds, descriptorLimit, observer, isProxy })
    this.bodies = new Bodies(bounds, observer)
    this.origins = new Origins(origins)
    this.addressOf = addressReader(trustProxy)
    this.baseUrlOf = baseUrlReader(publicUrl, trustProxy)
  }

  /**
   * Bounds the connections of a server from the moment they are accepted until the server is closed.
   * @param onStalled gets the connections whose body makes no progress; it closes them
   */
  accept(server: Server, onStalled: (socket: Socket) => void): void {
    server.on('connection', (socket) => this.connections.opened(socket))
    const sweep = setInterval(() => {
      const now = performance.now()
      this.connections.sweep(now)
      for (const socket of this.bodies.sweep(now)) onStalled(socket)
    }, sweepIntervalMs).unref()
    server.on('close', () => clearInterval(sweep))
  }
}
