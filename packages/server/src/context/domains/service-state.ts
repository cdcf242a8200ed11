import { IdentityStore } from '../../db/identity/identity-store.js'
import { ServiceStateService } from '../../domain/service-state/service-state-service.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

export function createServiceState({ database, stores, node, state, clock }: Infrastructure) {
  const store = new IdentityStore()
  node.figures.add('writes', { own: () => state.figure })
  const otherNodes = async () => {
    if (database.dialect.name === 'sqlite') return []
    const nodes = await stores.nodes.list()
    return nodes
      .filter(({ nodeId, state }) => nodeId !== node.id && state !== 'dead')
      .flatMap(({ figures }) => figures.writes ?? [])
  }
  const serviceState = new ServiceStateService({ database, store, state, otherNodes, clock })
  return { services: { serviceState } } satisfies Domain
}
