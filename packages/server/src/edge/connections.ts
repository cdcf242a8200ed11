import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { AppError } from '@hermod/protocol'
import { networkOf } from '../lib/limits/network.js'
import type { BoundsObserver, CloseReason } from './observer.js'
import { ReadThrottle } from './read-throttle.js'
import { type UnreadBounds, UnreadBytes, type UnreadOf } from './unread-bytes.js'

/** Bounds on connections, in total, by address and by connection. */
export interface ConnectionBounds extends UnreadBounds {
  readonly connections: number
  readonly addressConnections: number
  /** Requests of one connection that are executed at once. */
  readonly connectionRequests: number
  /** Requests of all connections that wait to be executed. */
  readonly waitingRequests: number
  /** From this number of unread bytes on, no further request of a connection begins. */
  readonly connectionUnreadBytes: number
}

interface ConnectionsOptions {
  readonly bounds: ConnectionBounds
  /** The number of connections that the descriptors of the process allow for. */
  readonly descriptorLimit: number
  readonly observer: BoundsObserver
  /** Reports whether many clients share the connections from this address. */
  isProxy(address: string): boolean
}

/** A transport that keeps a connection open without requests. */
export interface LongUse {
  /** The client does not read, and a bound is reached; the transport closes the connection. */
  closeAtBound(): void
}

/** The state of one connection. */
interface HeldConnection extends UnreadOf {
  /** The unit that limits by address count; null: not counted. */
  readonly network: string | null
  /** Requests in progress: their answers are not out yet. */
  open: number
  /** Begins the requests that were read and not begun, in their order. */
  readonly waiting: (() => void)[]
  /** When the last answer was out, as performance.now() of the sweep before. */
  usedAt: number
  /** null while the connection serves requests. */
  longUse: LongUse | null
  stallFactor: number
}

/** Connections beyond the bounds that stay open until their call is refused. */
export const surplusConnections = 32
const surplusMs = 2_000
/** The share of the connections that file transfers may take. */
const shareOfFiles = 0.25
/** A connection in long use is often that of a phone, so it gets twice the time to read. */
const longUseStallFactor = 2
/** The share of all connections that makes room at once, since finding idle ones is a walk over all. */
const shareThatGoes = 0.01

/**
 * Bounds what clients can make the service hold: connections, in total and by address; requests
 * that wait on a connection for the answers before them, while nothing more is read from it; bytes
 * that clients do not read.
 *
 * A transport reports each request ({@link requestArrived}) and its end ({@link answered}), and
 * memory that waits for a client ({@link hold}, {@link release}). A connection without a request in
 * progress is idle and may be closed to make room, unless it is in long use ({@link beginLongUse}).
 */
export class Connections {
  readonly #all = new Map<Socket, HeldConnection>()
  readonly #byNetwork = new Map<string, number>()
  /** Connections beyond the bounds, until their call is refused. */
  readonly #surplus = new Set<Socket>()
  readonly #limit: { readonly connections: number; readonly reason: CloseReason }
  readonly #unread: UnreadBytes<HeldConnection>
  readonly #throttle = new ReadThrottle({
    sockets: () => this.#all.keys(),
    networkOf: (socket) => this.#all.get(socket)?.network,
    mayRead: (socket) => this.#all.get(socket)?.waiting.length === 0,
  })
  /** The listener of all sockets: one of its own would cost each of them 300 bytes. */
  readonly #onClose: (this: Socket) => void
  #waitingRequests = 0
  /** File transfers in progress; each takes a descriptor, as a connection does. */
  #files = 0
  #now = performance.now()

  constructor(private readonly options: ConnectionsOptions) {
    const { bounds, descriptorLimit } = options
    this.#limit =
      descriptorLimit < bounds.connections
        ? { connections: descriptorLimit, reason: 'descriptors' }
        : { connections: bounds.connections, reason: 'connections' }
    this.#unread = new UnreadBytes(bounds, (connection, reason) => this.#close(connection, reason))
    const forget = (socket: Socket) => this.#forget(socket)
    this.#onClose = function () {
      forget(this)
    }
  }

  get count(): number {
    return this.#all.size
  }

  get waitingRequests(): number {
    return this.#waitingRequests
  }

  get unreadBytes(): number {
    return this.#unread.total
  }

  /** Takes a new connection, or lets it stay until its call is refused. */
  opened(socket: Socket): void {
    const { bounds, isProxy } = this.options
    const address = socket.remoteAddress
    // A local socket has no address.
    const network = address === undefined || isProxy(address) ? null : networkOf(address)
    const ofNetwork = network === null ? 0 : (this.#byNetwork.get(network) ?? 0)
    if (ofNetwork >= bounds.addressConnections) this.#refuse(socket, 'address_connections')
    else if (this.#isFull() && !this.#makeRoom()) this.#refuse(socket, this.#limit.reason)
    else {
      if (network !== null) this.#byNetwork.set(network, ofNetwork + 1)
      this.#take(socket, network)
    }
  }

  #take(socket: Socket, network: string | null): void {
    this.#all.set(socket, {
      socket,
      network,
      open: 0,
      waiting: [],
      usedAt: this.#now,
      longUse: null,
      stallFactor: 1,
      unreadBytes: 0,
      takenBytes: 0,
      progressAt: 0,
    })
    socket.on('close', this.#onClose)
  }

  /** The connection may make one call before it is closed. */
  #refuse(socket: Socket, reason: CloseReason): void {
    if (this.#surplus.size >= surplusConnections) {
      this.#destroy(socket, reason)
      return
    }
    this.options.observer.closed(reason)
    this.#surplus.add(socket)
    const timer = setTimeout(() => socket.destroy(), surplusMs).unref()
    socket.once('close', () => {
      clearTimeout(timer)
      this.#surplus.delete(socket)
    })
  }

  /**
   * Keeps an open connection, such as a WebSocket, from being closed as idle until it ends.
   * @returns false when the connection is beyond the bounds or closed: the transport refuses it and closes it
   */
  beginLongUse(socket: Socket, use: LongUse): boolean {
    const connection = this.#all.get(socket)
    if (!connection) return false
    connection.longUse = use
    connection.stallFactor = longUseStallFactor
    return true
  }

  /** The most connections that the settings and the descriptors of the process allow for. */
  get limit(): number {
    return this.#limit.connections
  }

  /**
   * @param begin serves the request; called at once, or when its turn comes
   * @returns false when the connection is beyond the bounds: the transport refuses the request and
   * closes the connection
   */
  requestArrived(socket: Socket, begin: () => void): boolean {
    const connection = this.#all.get(socket)
    if (!connection) {
      if (this.#surplus.has(socket)) return false
      // The connection was closed, and the request is from the rest of what had been read.
      this.#throttle.arrivedEarly()
    } else if (connection.waiting.length > 0 || !this.#mayBegin(connection))
      this.#wait(connection, begin)
    else {
      connection.open++
      begin()
    }
    return true
  }

  /** Tests whether requests of the connection are in progress or wait. */
  isBusy(socket: Socket): boolean {
    const connection = this.#all.get(socket)
    return connection !== undefined && (connection.open > 0 || connection.waiting.length > 0)
  }

  /** Ends a request: its whole answer is out. Begins the requests that have waited for it. */
  answered(socket: Socket): void {
    const connection = this.#all.get(socket)
    if (!connection) return
    connection.open--
    connection.usedAt = this.#now
    const { waiting } = connection
    if (waiting.length === 0) return
    while (waiting.length > 0 && this.#mayBegin(connection)) {
      const begin = waiting.shift()
      this.#waitingRequests--
      connection.open++
      begin?.()
    }
    if (waiting.length === 0) socket.resume()
  }

  /** Counts bytes in memory that wait for the client. It may close slow readers, this one included. */
  hold(socket: Socket, bytes: number): void {
    const connection = this.#all.get(socket)
    if (connection) this.#unread.add(connection, bytes)
  }

  /** The client has taken the bytes, or they are no longer in memory. @param bytes as in {@link hold} */
  release(socket: Socket, bytes: number): void {
    const connection = this.#all.get(socket)
    if (connection) this.#unread.remove(connection, bytes)
  }

  /**
   * @throws AppError unavailable to a client that has not read its answers while too many bytes are
   * unread
   */
  requireRoom(socket: Socket): void {
    const connection = this.#all.get(socket)
    if (!connection || connection.unreadBytes === 0 || !this.#unread.isFull()) return
    this.options.observer.refused('unread_bytes')
    throw new AppError('unavailable', 'too many answers are unread')
  }

  /**
   * Counts a file that comes in or goes out.
   * @param exchange emits `close` at its end
   * @throws AppError unavailable when too many files are in progress, or no descriptor is left for it
   */
  requireRoomForFile(exchange: EventEmitter): void {
    const isRoom =
      this.#files < this.#limit.connections * shareOfFiles && (!this.#isFull() || this.#makeRoom())
    if (!isRoom) {
      this.options.observer.refused('files')
      throw new AppError('unavailable', 'too many files are on their way')
    }
    this.#files++
    exchange.once('close', () => this.#files--)
  }

  /** Closes connections whose clients have stopped reading. @param now as performance.now() */
  sweep(now: number): void {
    this.#now = now
    this.#unread.sweep(now)
  }

  /** Closes all connections. */
  destroyAll(): void {
    for (const socket of [...this.#all.keys(), ...this.#surplus]) socket.destroy()
  }

  #isFull(): boolean {
    return this.#all.size + this.#files >= this.#limit.connections
  }

  #mayBegin({ open, unreadBytes }: HeldConnection): boolean {
    const { connectionRequests, connectionUnreadBytes } = this.options.bounds
    return open < connectionRequests && unreadBytes < connectionUnreadBytes
  }

  #wait(connection: HeldConnection, begin: () => void): void {
    const { waiting, socket } = connection
    waiting.push(begin)
    this.#waitingRequests++
    // Each time, since Node resumes a socket that it has paused itself.
    socket.pause()
    this.#throttle.arrivedEarly(connection.network)
    // All that was read at once arrives at once, so a single connection may have a thousand requests.
    if (this.#waitingRequests > this.options.bounds.waitingRequests && waiting.length > 1)
      this.#closeWithoutTraces(connection)
  }

  /**
   * Node gives each of the waiting requests an error, and its stack trace costs more than the
   * request did.
   */
  #closeWithoutTraces(connection: HeldConnection): void {
    const { socket } = connection
    const { stackTraceLimit } = Error
    socket.prependOnceListener('close', () => {
      Error.stackTraceLimit = 0
    })
    socket.once('close', () => {
      Error.stackTraceLimit = stackTraceLimit
    })
    this.#close(connection, 'waiting_requests')
  }

  /** Closes idle connections of the network that has most of them. @returns false when there are none */
  #makeRoom(): boolean {
    const idle = new Map<string | null, HeldConnection[]>()
    for (const connection of this.#all.values()) {
      if (connection.open > 0 || connection.longUse) continue
      const ofNetwork = idle.get(connection.network)
      if (ofNetwork) ofNetwork.push(connection)
      else idle.set(connection.network, [connection])
    }
    const [most = []] = [...idle.values()].sort((a, b) => b.length - a.length)
    const count = Math.ceil(this.#all.size * shareThatGoes)
    const longest = most.sort((a, b) => a.usedAt - b.usedAt).slice(0, count)
    for (const connection of longest) this.#close(connection, this.#limit.reason)
    return longest.length > 0
  }

  #destroy(socket: Socket, reason: CloseReason): void {
    this.options.observer.closed(reason)
    socket.destroy()
  }

  #close({ socket, longUse }: HeldConnection, reason: CloseReason): void {
    if (longUse === null) {
      this.#forget(socket)
      this.#destroy(socket, reason)
      return
    }
    // It stays counted until it is closed, and its bytes do not count again.
    this.#unread.forget(this.#all.get(socket) as HeldConnection)
    this.options.observer.closed(reason)
    longUse.closeAtBound()
  }

  #forget(socket: Socket): void {
    const connection = this.#all.get(socket)
    if (!connection) return
    this.#all.delete(socket)
    const { network, waiting } = connection
    this.#waitingRequests -= waiting.length
    waiting.length = 0
    this.#unread.forget(connection)
    if (network === null) return
    const left = (this.#byNetwork.get(network) ?? 0) - 1
    if (left > 0) this.#byNetwork.set(network, left)
    else this.#byNetwork.delete(network)
  }
}
