import { Bodies, type BodyBounds } from './bodies.js'
import { type ConnectionBounds, Connections } from './connections.js'
import type { BoundsObserver } from './observer.js'

export interface BoundsOptions {
  readonly bounds: ConnectionBounds & BodyBounds
  /** How many connections the descriptors of the process allow for; without one, as many as it likes. */
  readonly descriptorLimit?: number
  readonly observer: BoundsObserver
  /** Many clients share the connections from this address. */
  isProxy(address: string): boolean
}

/** What the clients of one server can have it hold. */
export class Bounds {
  readonly connections: Connections
  readonly bodies: Bodies

  constructor(options: BoundsOptions) {
    this.connections = new Connections({ descriptorLimit: Number.POSITIVE_INFINITY, ...options })
    this.bodies = new Bodies(options.bounds, options.observer)
  }
}
