import type { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { AppError } from '@hermod/protocol'
import { networkOf } from '../../lib/limits/network.js'
import type { BoundsObserver, CloseReason } from './observer.js'
import { type UnreadBounds, UnreadBytes, type UnreadOf } from './unread-bytes.js'

export interface ConnectionBounds extends UnreadBounds {
  readonly connections: number
  readonly addressConnections: number
  /** Of one connection, worked on at once. */
  readonly connectionRequests: number
  /** Of all connections, behind those that are worked on. */
  readonly waitingRequests: number
  /** From so many bytes of unread answers on, no further request of a connection is begun. */
  readonly connectionUnreadBytes: number
}

export interface ConnectionsOptions {
  readonly bounds: ConnectionBounds
  /** How many connections the descriptors of the process allow for. */
  readonly descriptorLimit: number
  readonly observer: BoundsObserver
  /** Many clients share the connections from this address. */
  isProxy(address: string): boolean
}

/** What is held for one connection. */
interface HeldConnection extends UnreadOf {
  /** As limits by address count it; null: not counted. */
  readonly network: string | null
  /** Requests that were begun and whose answers are not out. */
  open: number
  /** Begins the requests that were read and not begun, in their order. */
  readonly waiting: (() => void)[]
  /** When the last answer was out, as performance.now() at the sweep before. */
  usedAt: number
}

/** So many connections are taken beyond the bounds, for as long as it takes to refuse their call. */
export const surplusConnections = 32
const surplusMs = 2_000
/** So many requests that come before their turn make the rest of all connections wait for the next turn of the event loop. */
const earlyPerTurn = 1_000
/** Of the bound of connections, files on their way have at most this share. */
const shareOfFiles = 0.25
/** Where connections have to go, so many of all go at once, since to find them takes a look at all. */
const shareThatGoes = 0.01

/**
 * Bounds what clients can have the service hold: connections, in total and by address; requests that wait on a connection for the answers
 * before them, while nothing more is read from it; answers that are not read.
 */
export class Connections {
  readonly #all = new Map<Socket, HeldConnection>()
  readonly #byNetwork = new Map<string, number>()
  /** Those that are one too many, until their call is refused. */
  readonly #surplus = new Set<Socket>()
  readonly #limit: { readonly connections: number; readonly reason: CloseReason }
  readonly #unread: UnreadBytes<HeldConnection>
  #waitingRequests = 0
  /** Those on their way in or out: each takes a descriptor, as a connection does. */
  #files = 0
  /** Requests of this turn of the event loop that came before their turn. */
  #early = 0
  /** Where they came from. */
  #earlyNetwork: string | null = null
  /** What is read no further in this turn. */
  #held: Socket[] = []
  /** What is read one by one, in turns of their own. */
  readonly #slowed: Socket[] = []
  #now = performance.now()

  constructor(private readonly options: ConnectionsOptions) {
    const { bounds, descriptorLimit } = options
    this.#limit =
      descriptorLimit < bounds.connections
        ? { connections: descriptorLimit, reason: 'descriptors' }
        : { connections: bounds.connections, reason: 'connections' }
    this.#unread = new UnreadBytes(options.bounds, (connection, reason) =>
      this.#close(connection, reason),
    )
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
    // There is none on a local socket.
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
      unreadBytes: 0,
      takenBytes: 0,
      progressAt: 0,
    })
    socket.once('close', () => this.#forget(socket))
  }

  /** It may say one thing before it goes. */
  #refuse(socket: Socket, reason: CloseReason): void {
    if (this.#surplus.size >= surplusConnections) {
      this.#turnAway(socket, reason)
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
   * @param begin serves the request; called at once, or when its turn comes
   * @returns false when the connection is one too many: the request is to be refused, and the connection closed
   */
  arrived(socket: Socket, begin: () => void): boolean {
    const connection = this.#all.get(socket)
    if (!connection) {
      if (this.#surplus.has(socket)) return false
      // It was closed, and this is from the rest of what had been read.
      this.#cameEarly()
    } else if (connection.waiting.length > 0 || !this.#mayBegin(connection))
      this.#wait(connection, begin)
    else {
      connection.open++
      begin()
    }
    return true
  }

  /**
   * The whole answer has been handed to its connection.
   * @param bytes of the answer
   */
  answered(socket: Socket, response: ServerResponse, bytes: number): void {
    const connection = this.#all.get(socket)
    if (!connection) return
    // Nearly always everything is out by now.
    if (response.socket !== null && socket.writableLength === 0) this.#goOn(connection)
    else {
      response.once('finish', () => {
        this.#unread.remove(connection, bytes)
        this.#goOn(connection)
      })
      this.#unread.add(connection, bytes)
    }
  }

  /** A part of an answer that is written bit by bit waits for its client. @param bytes in memory for it */
  holding(socket: Socket, bytes: number): void {
    const connection = this.#all.get(socket)
    if (connection) this.#unread.add(connection, bytes)
  }

  /** The client has taken what it was held for. @param bytes as in `holding` */
  released(socket: Socket, bytes: number): void {
    const connection = this.#all.get(socket)
    if (connection) this.#unread.remove(connection, bytes)
  }

  /** An answer that was written bit by bit is out. */
  ended(socket: Socket): void {
    const connection = this.#all.get(socket)
    if (connection) this.#goOn(connection)
  }

  /** @throws AppError unavailable to a client that has not read what it got, while more is unread than may be */
  requireRoom(socket: Socket): void {
    const connection = this.#all.get(socket)
    if (!connection || connection.unreadBytes === 0 || !this.#unread.isFull()) return
    this.options.observer.refused('unread_bytes')
    throw new AppError('unavailable', 'too many answers are unread')
  }

  /**
   * A file comes in or goes out.
   * @param exchange says `close` when it is over
   * @throws AppError unavailable when there are too many of them, or no descriptor is left for it
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

  #isFull(): boolean {
    return this.#all.size + this.#files >= this.#limit.connections
  }

  /** Closes connections whose clients have stopped reading. @param now as performance.now() */
  sweep(now: number): void {
    this.#now = now
    this.#unread.sweep(now)
  }

  #mayBegin({ open, unreadBytes }: HeldConnection): boolean {
    const { connectionRequests, connectionUnreadBytes } = this.options.bounds
    return open < connectionRequests && unreadBytes < connectionUnreadBytes
  }

  #wait(connection: HeldConnection, begin: () => void): void {
    const { waiting, socket } = connection
    waiting.push(begin)
    this.#waitingRequests++
    // Each time, since Node resumes by itself when it has paused for a reason of its own.
    socket.pause()
    this.#earlyNetwork = connection.network
    this.#cameEarly()
    // What was read at once comes at once, so a single connection may have a thousand.
    if (this.#waitingRequests > this.options.bounds.waitingRequests && waiting.length > 1)
      this.#closeWithMany(connection)
  }

  /** Node gives each of the requests an error, whose stack trace costs more than the request did. */
  #closeWithMany(connection: HeldConnection): void {
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

  /**
   * What a connection has sent at once is taken apart at once, and stays in memory until the turn of the event loop ends. So where one has
   * sent very much, nothing more is read in this turn, and from its network one connection in each of the next ones.
   */
  #cameEarly(): void {
    if (++this.#early === 1) setImmediate(() => this.#turnEnded())
    if (this.#early !== earlyPerTurn) return
    for (const { socket } of this.#all.values()) {
      if (socket.isPaused()) continue
      socket.pause()
      this.#held.push(socket)
    }
  }

  #turnEnded(): void {
    const held = this.#held
    this.#early = 0
    this.#held = []
    for (const socket of held)
      if (this.#all.get(socket)?.network === this.#earlyNetwork) this.#readSlowly(socket)
      else this.#readOn(socket)
  }

  #readSlowly(socket: Socket): void {
    if (this.#slowed.push(socket) > 1) return
    const next = () => {
      const [first] = this.#slowed
      if (first) this.#readOn(first)
      this.#slowed.shift()
      if (this.#slowed.length > 0) setImmediate(next)
    }
    setImmediate(next)
  }

  #readOn(socket: Socket): void {
    if (this.#all.get(socket)?.waiting.length === 0) socket.resume()
  }

  /** Begins what has waited for the answer that is out. */
  #goOn(connection: HeldConnection): void {
    connection.open--
    connection.usedAt = this.#now
    const { waiting, socket } = connection
    if (waiting.length === 0) return
    while (waiting.length > 0 && this.#mayBegin(connection)) {
      const begin = waiting.shift()
      this.#waitingRequests--
      connection.open++
      begin?.()
    }
    if (waiting.length === 0) socket.resume()
  }

  /** Closes idle connections of the network that has most of them. @returns false when there are none */
  #makeRoom(): boolean {
    const idle = new Map<string | null, HeldConnection[]>()
    for (const connection of this.#all.values()) {
      if (connection.open > 0) continue
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

  #turnAway(socket: Socket, reason: CloseReason): void {
    this.options.observer.closed(reason)
    socket.destroy()
  }

  #close({ socket }: HeldConnection, reason: CloseReason): void {
    this.#forget(socket)
    this.#turnAway(socket, reason)
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
