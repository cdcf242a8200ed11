/** Kinds of work that one node at a time runs. */
export type ShareKind = 'consumer' | 'webhooks' | 'maintenance'

/** The right of this node to run a work. */
export interface Share {
  /** True while the work may begin and continue. */
  readonly isHeld: boolean
  /** True while the work, also one that ends, may write its progress. */
  readonly isOwn: boolean
}

/** Division of the work that one node at a time runs. */
export interface Shares {
  /**
   * Names a work that this node can run.
   * @param end ends the work, whose share is not held from now on; resolves when nothing of it runs
   */
  add(kind: ShareKind, name: string, end: () => Promise<void>): Share
}

/** The shares of this node with their life. */
export interface RunningShares extends Shares {
  /** Takes its first shares; all works are added by then. */
  start(): Promise<void>
  /** Gives all shares back. The caller has ended the works. */
  stop(): Promise<void>
}

/** The shares of the only node of a database, which runs everything. */
export const soleShares: RunningShares = {
  add: () => ({ isHeld: true, isOwn: true }),
  start: async () => {},
  stop: async () => {},
}
