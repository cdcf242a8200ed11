import { NodeService } from '../../domain/nodes/node-service.js'
import { nodeNotices } from '../../nodes/node-notices.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

export function createNodes({ database, stores }: Infrastructure) {
  const nodes = new NodeService({
    store: database.dialect.name === 'sqlite' ? null : stores.nodes,
    notices: () => nodeNotices(database),
  })
  return { services: { nodes } } satisfies Domain
}
