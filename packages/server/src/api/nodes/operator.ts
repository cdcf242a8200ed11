import { drainNode, listNodes, removeNode } from '@hermod/protocol'
import type { NodeDetails, NodeService } from '../../domain/nodes/node-service.js'
import { data, type Handler, handle, whenDone } from '../../pipeline/call.js'

export function nodeHandlers({ nodes }: { readonly nodes: NodeService }): Handler[] {
  return [
    handle(listNodes, async () => {
      const found = await nodes.list()
      return data({ nodes: found.nodes.map(toNode), notices: [...found.notices] })
    }),
    handle(drainNode, ({ node_id }) => whenDone(nodes.drain(node_id))),
    handle(removeNode, ({ node_id }) => whenDone(nodes.remove(node_id))),
  ]
}

function toNode({ nodeId, figures, ...node }: NodeDetails) {
  const { load } = figures
  return {
    node_id: nodeId,
    state: node.state,
    host: node.host,
    version: node.version,
    schema: node.schema,
    lease: node.lease,
    started_at: node.startedAt,
    heartbeat_age_ms: node.heartbeatAgeMs,
    connections: load?.connections ?? 0,
    sends_per_second: load?.sendsPerSecond ?? 0,
    lag_ms: load?.lagMs ?? 0,
    bus: load?.bus ?? '',
    memory_bytes: load?.memoryBytes ?? 0,
    shares: node.shares,
    pool: node.pool,
    differing_settings: [...node.differingSettings],
  }
}
