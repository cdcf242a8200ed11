import { NodeFigures } from './node-figures.js'

/** This process among those that share the database. */
export interface ThisNode {
  /**
   * Its name, which its data folder keeps. It changes together with the lease when another process
   * has the same name.
   */
  readonly id: string
  /** The number of its present lease; changes when its lease was ended. 0 before the start. */
  readonly lease: number
  /** True while the lease is certainly valid, by the process's monotonic clock. */
  readonly isLive: boolean
  /** True once it finishes its work and leaves. */
  readonly isDraining: boolean
  /** The figures that it exchanges with the other nodes. */
  readonly figures: NodeFigures
  /** Words for /readyz, such as 'clock'. */
  readonly degraded: readonly string[]
  /** Calls the listener after each new lease number except the first one. @returns a function that ends it */
  onNewLease(listener: () => void): () => void
}

/** A node with its life. */
export interface RunningNode extends ThisNode {
  /** Resolves when the node is told to finish its work and to leave. */
  readonly draining: Promise<void>
  /** Takes the first lease. */
  start(): Promise<void>
  /** Leaves: the other nodes need not wait for the end of the lease. */
  stop(): Promise<void>
}

/** The node of the embedded database, which has no others. */
export function soleNode(id: string): RunningNode {
  return {
    id,
    lease: 1,
    isLive: true,
    isDraining: false,
    draining: new Promise(() => {}),
    degraded: [],
    figures: new NodeFigures(),
    onNewLease: () => () => {},
    start: async () => {},
    stop: async () => {},
  }
}
