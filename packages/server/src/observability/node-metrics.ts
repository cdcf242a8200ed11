import type { MetricRegistry } from './metric-registry.js'

/** Figures of a node and of those that share its database. */
export interface NodeVitals {
  /** Nodes that live. */
  readonly nodes: number
  readonly heartbeatAgeSeconds: number
  readonly clockAheadSeconds: number
  /** Held shares by kind. */
  readonly shares: ReadonlyMap<string, number>
}

/** The nodes that share a database. */
export class NodeMetrics {
  constructor(private readonly registry: MetricRegistry) {}

  /** @param read returns what is known now */
  watch(read: () => NodeVitals): void {
    this.registry.readGauges(read, [
      ['hermod_nodes', 'Nodes that live, as read with the last heartbeat.', ({ nodes }) => nodes],
      [
        'hermod_node_heartbeat_age_seconds',
        'Seconds since the last heartbeat of this node; it stops its background work at 13.',
        ({ heartbeatAgeSeconds }) => heartbeatAgeSeconds,
      ],
      [
        'hermod_node_clock_ahead_seconds',
        'Seconds by which the clock of this node is ahead of that of the database.',
        ({ clockAheadSeconds }) => clockAheadSeconds,
      ],
    ])
    this.registry.gauge(
      'hermod_node_shares',
      'Works that this node runs and no other one does, by kind.',
      ['kind'],
      (gauge) => {
        for (const [kind, count] of read().shares) gauge.set({ kind }, count)
      },
    )
  }
}
