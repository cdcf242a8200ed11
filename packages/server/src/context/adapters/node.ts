import { hostname } from 'node:os'
import type { DiskFloor } from '../../blobs/disk-floor.js'
import type { ServerConfig } from '../../config/config.js'
import type { Database } from '../../db/database.js'
import { currentSchemaNumber } from '../../db/migrations/migrate.js'
import type { Clock } from '../../lib/clock.js'
import { LiveNode, type NodeObserver } from '../../nodes/live-node.js'
import { LiveShares } from '../../nodes/live-shares.js'
import { version } from '../../lib/version.js'
import { type RunningNode, soleNode } from '../../nodes/node.js'
import { NodeDisk } from '../../nodes/node-disk.js'
import { nodeIdOf, renewNodeId } from '../../nodes/node-id.js'
import { type LoadSources, NodeLoad } from '../../nodes/node-load.js'
import { type RunningShares, soleShares } from '../../nodes/shares.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import { isDatabaseFailure } from '../database/database-log.js'
import type { Stores } from '../stores.js'

interface CreateNodeOptions {
  readonly config: ServerConfig
  readonly database: Database
  readonly stores: Pick<Stores, 'nodes' | 'shares'>
  readonly load: LoadSources
  /** The disk of the files. */
  readonly disk: DiskFloor
  readonly clock: Clock
  readonly metrics: Metrics
  readonly log: Logger
}

/**
 * Makes this node and its shares of the work. With the embedded database it is the only one. The
 * data folder is locked.
 */
export function createNode({
  config,
  database,
  stores,
  load,
  disk,
  clock,
  metrics,
  log,
}: CreateNodeOptions): {
  readonly node: RunningNode
  readonly shares: RunningShares
} {
  const { dataDir, storage } = config
  const id = nodeIdOf(dataDir)
  if (storage.kind === 'sqlite') return { node: soleNode(id), shares: soleShares }
  const observer = nodeObserver(log)
  const node = new LiveNode({
    id,
    store: stores.nodes,
    facts: {
      version,
      schema: currentSchemaNumber(database),
      host: `${hostname()}:${config.http.port}`,
      pool: storage.maxConnections,
      settings: config.sameOnNodes,
    },
    renewId: () => renewNodeId(dataDir),
    clock,
    observer,
  })
  node.figures.add('load', new NodeLoad(load))
  node.figures.add('disk', new NodeDisk(() => disk.readSpace()))
  const shares = new LiveShares({ node, store: stores.shares, failed: observer.failed })
  metrics.nodes.watch(() => ({
    nodes: node.nodes,
    heartbeatAgeSeconds: node.heartbeatAgeMs / 1_000,
    clockAheadSeconds: node.aheadMs / 1_000,
    shares: shares.counts,
  }))
  return { node, shares }
}

function nodeObserver(log: Logger): NodeObserver {
  return {
    clockDiffers(aheadMs) {
      const direction = aheadMs > 0 ? 'ahead of' : 'behind'
      log.warn(
        { seconds: Math.abs(Math.round(aheadMs / 100) / 10) },
        `the clock of this machine is ${direction} that of the database; synchronize both, for example with NTP`,
      )
    },
    ended: (node) =>
      log.warn({ node }, 'a node gives no sign of life; other nodes take over its work'),
    lost(reason) {
      log.warn(
        reason === 'ended'
          ? 'other nodes took this one for dead; it goes on, and its background work is shared anew'
          : 'another process has the node.id of this one, from a copy of its data folder; this node takes a new ID',
      )
    },
    failed(error) {
      if (!isDatabaseFailure(error)) log.error({ err: error }, 'the heartbeat of this node failed')
    },
  }
}
