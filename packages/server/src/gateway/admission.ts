import { AppError } from '@hermod/protocol'
import { networkOf } from '../lib/limits/network.js'
import type { Connection } from './connection.js'
import { giveWayMs } from './limits.js'

interface AdmissionBounds {
  readonly connections: number
  readonly addressConnections: number
  /** Connections that have not sent session.open. */
  readonly unopened: number
}

/** The share of all connections that WebSockets may take; the rest is for requests. */
const shareOfSockets = 0.9

/** Bounds WebSockets: in all, by address, and those that have not sent session.open. */
export class ConnectionAdmission {
  readonly #byNetwork = new Map<string, number>()
  /** Without session.open, in the order in which they came. */
  readonly #unopened = new Set<Connection>()
  readonly #unopenedByNetwork = new Map<string, Set<Connection>>()
  readonly #limit: number
  #count = 0

  /**
   * @param connections the most connections of the service
   * @param returnTime tells when one of some clients comes back, milliseconds
   */
  constructor(
    private readonly bounds: AdmissionBounds,
    connections: number,
    private readonly returnTime: (clients: number) => number,
  ) {
    this.#limit = Math.min(
      bounds.connections,
      Math.max(1, Math.floor(connections * shareOfSockets)),
    )
  }

  get unopened(): number {
    return this.#unopened.size
  }

  /**
   * Makes room for a connection.
   * @returns the unit by which the address is counted
   * @throws AppError unavailable, address_limited
   */
  requireRoom(address: string): string {
    const network = networkOf(address)
    if ((this.#byNetwork.get(network) ?? 0) >= this.bounds.addressConnections)
      throw new AppError('address_limited', 'too many connections', { retryAfterSeconds: 10 })
    if (this.#count >= this.#limit) throw new AppError('unavailable', 'too many connections')
    if (this.#unopened.size >= this.bounds.unopened) this.#makeRoom(network)
    return network
  }

  add(connection: Connection): void {
    const { network } = connection.source
    this.#count++
    this.#byNetwork.set(network, (this.#byNetwork.get(network) ?? 0) + 1)
    this.#unopened.add(connection)
    const ofNetwork = this.#unopenedByNetwork.get(network) ?? new Set()
    this.#unopenedByNetwork.set(network, ofNetwork.add(connection))
  }

  /** The connection has sent session.open, or is closing. */
  opens(connection: Connection): void {
    if (!this.#unopened.delete(connection)) return
    const { network } = connection.source
    const ofNetwork = this.#unopenedByNetwork.get(network)
    ofNetwork?.delete(connection)
    if (ofNetwork?.size === 0) this.#unopenedByNetwork.delete(network)
  }

  remove(connection: Connection): void {
    const { network } = connection.source
    this.#count--
    this.opens(connection)
    const left = (this.#byNetwork.get(network) ?? 0) - 1
    if (left > 0) this.#byNetwork.set(network, left)
    else this.#byNetwork.delete(network)
  }

  /**
   * Connections that have come before a time and have not sent session.open.
   * @param time as performance.now()
   */
  *unopenedSince(time: number): Generator<Connection, void> {
    for (const connection of this.#unopened) {
      if (connection.connectedAt > time) return
      yield connection
    }
  }

  /**
   * The oldest connection gives way: that of the network that has most, or one that has waited for a second.
   * Its client may be one of many that come back together, so it comes again.
   * @throws AppError unavailable when there is none
   */
  #makeRoom(network: string): void {
    const [most = this.#unopened] = [...this.#unopenedByNetwork.values()].sort(
      (a, b) => b.size - a.size,
    )
    const own = this.#unopenedByNetwork.get(network)?.size ?? 0
    const [oldest] = most.size > own + 1 ? most : this.unopenedSince(performance.now() - giveWayMs)
    if (!oldest) throw new AppError('unavailable', 'too many connections without a session')
    const retryAfterMs = this.returnTime(this.#unopened.size)
    oldest.close('overloaded', 'too many connections wait for session.open', retryAfterMs)
  }
}
