import type { Database } from '../db/database.js'
import { type ListedNode, listLiveNodes } from './live-nodes.js'

/** A sentence about nodes that do not fit together. */
export interface NodeNotice {
  readonly check: 'node_settings' | 'node_connections'
  /** The setting. */
  readonly subject: string
  readonly detail: string
}

/** The lowest limit of connections to the database. */
export interface ConnectionLimit {
  /** Origin of the limit, such as `PostgreSQL (max_connections …)`. */
  readonly of: string
  readonly connections: number
}

/** The connections of a node beside its pool: one for long reads, one of the bus. */
const connectionsBesidePool = 2
/** Each node needs a slot of IDs of its own. */
const maxNodes = 63

/** More nodes than there are slots of IDs. */
export class TooManyNodesError extends Error {
  override readonly name = 'TooManyNodesError'
}

/** Throws a TooManyNodesError when this node, which has a lease already, is one too many. */
export async function requireFewNodes(database: Database): Promise<void> {
  if (isEmbedded(database) || (await listLiveNodes(database)).length <= maxNodes) return
  throw new TooManyNodesError(
    `${maxNodes} nodes use the database already, and IDs are divided among as many; stop one of them, or wait a minute for one that was killed`,
  )
}

/** Compares the live nodes; none for the embedded database. */
export async function nodeNotices(database: Database): Promise<NodeNotice[]> {
  const nodes = isEmbedded(database) ? [] : await listLiveNodes(database)
  if (nodes.length < 2) return []
  const limit = await database.dialect.connectionLimit?.(database.writer)
  return [...settingNotices(nodes), ...(limit ? connectionNotices(nodes, limit) : [])]
}

/** One process has the embedded database. */
function isEmbedded({ dialect }: Database): boolean {
  return dialect.name === 'sqlite'
}

/** Names each setting that nodes have with different values. A node of another build may lack it. */
export function settingNotices(nodes: readonly ListedNode[]): NodeNotice[] {
  const names = [...new Set(nodes.flatMap(({ settings }) => Object.keys(settings)))].sort()
  return names.flatMap((name) => {
    const having = nodes.filter(({ settings }) => settings[name] !== undefined)
    if (new Set(having.map(({ settings }) => settings[name])).size < 2) return []
    const values = having.map(
      ({ id, host, settings }) => `${settings[name]} on node ${id} (${host})`,
    )
    const detail = `${name} must be the same on all nodes, and is ${values.join(', ')}; set one value and start these nodes again`
    return [{ check: 'node_settings', subject: name, detail }]
  })
}

/** Compares the connections that all nodes together may open with a limit. */
export function connectionNotices(
  nodes: readonly ListedNode[],
  { of, connections }: ConnectionLimit,
): NodeNotice[] {
  const sum = nodes.reduce((total, { pool }) => total + pool + connectionsBesidePool, 0)
  if (sum <= connections) return []
  const pools = nodes.map(({ id, host, pool }) => `${pool} of node ${id} (${host})`)
  const detail = `${of} allows ${connections} connections, fewer than the ${sum} that the nodes may open: ${connectionsBesidePool} of each, and pools of ${pools.join(', ')}; raise the limit, or lower HERMOD_DATABASE_POOL`
  return [{ check: 'node_connections', subject: 'HERMOD_DATABASE_POOL', detail }]
}
