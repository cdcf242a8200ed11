import type { DiskFigures } from './node-disk.js'
import type { LoadFigures } from './node-load.js'

/** A row of a node, for operators. */
export interface StoredNode {
  readonly nodeId: string
  readonly lease: number
  readonly state: 'live' | 'draining' | 'dead'
  /** The name of its machine, and its port. */
  readonly host: string
  readonly version: string
  readonly schema: number
  readonly startedAt: number
  readonly heartbeatAgeMs: number
  /** Connections of its pool. */
  readonly pool: number
  /** The number of works that it runs. */
  readonly shares: number
  /** A node of another build may lack some. */
  readonly figures: {
    readonly load?: LoadFigures
    /** null: the disk does not answer */
    readonly disk?: DiskFigures | null
    /** Calls in progress that may write, and when the state began that the node knows. */
    readonly writes?: { readonly since: number; readonly writes: number }
  }
}

/** The rows of nodes, for operators. */
export interface NodeRows {
  /** Lists all nodes by the time of their start. */
  list(): Promise<readonly StoredNode[]>
  /** Tells a live node to finish its work and to leave. @returns false when it does not live */
  drain(nodeId: string): Promise<boolean>
  /** Removes a dead node. */
  remove(nodeId: string): Promise<'removed' | 'lives' | 'absent'>
}
