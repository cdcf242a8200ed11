import { AppError } from '@hermod/protocol'
import type { NodeNotice } from '../../nodes/node-notices.js'
import type { NodeRows, StoredNode } from '../../nodes/node-rows.js'

interface NodeServiceOptions {
  /** Null: the embedded database, which has one node. */
  readonly store: NodeRows | null
  /** Compares the settings and the pools of the nodes that live. */
  readonly notices: () => Promise<readonly NodeNotice[]>
}

/** A node as operators see it. */
export interface NodeDetails extends StoredNode {
  /** Settings that must be alike, and of which another node has another value. */
  readonly differingSettings: readonly string[]
}

const seeList = 'hermod nodes lists the nodes'

/** Shows the nodes of the service to operators. */
export class NodeService {
  constructor(private readonly options: NodeServiceOptions) {}

  /** Lists the nodes by the time of their start, and sentences about what does not fit together. */
  async list(): Promise<{
    readonly nodes: readonly NodeDetails[]
    readonly notices: readonly string[]
  }> {
    const { store, notices } = this.options
    if (store === null) return { nodes: [], notices: [] }
    const [nodes, found] = await Promise.all([store.list(), notices()])
    const differing = found
      .filter(({ check }) => check === 'node_settings')
      .map(({ subject }) => subject)
    return {
      nodes: nodes.map((node) => ({
        ...node,
        differingSettings: node.state === 'dead' ? [] : differing,
      })),
      notices: found.map(({ detail }) => detail),
    }
  }

  /** Tells a node to finish its work and to leave. @throws AppError node_not_found */
  async drain(nodeId: string): Promise<void> {
    const isTold = (await this.options.store?.drain(nodeId)) ?? false
    if (!isTold) throw new AppError('node_not_found', `no live node has this ID; ${seeList}`)
  }

  /** @throws AppError node_not_found, node_lives */
  async remove(nodeId: string): Promise<void> {
    const outcome = (await this.options.store?.remove(nodeId)) ?? 'absent'
    if (outcome === 'absent') throw new AppError('node_not_found', seeList)
    if (outcome === 'lives')
      throw new AppError(
        'node_lives',
        'drain it first; a killed node counts as dead after 15 s, and the only one after a minute',
      )
  }
}
