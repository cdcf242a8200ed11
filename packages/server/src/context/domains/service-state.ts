import { IdentityStore } from '../../db/identity/identity-store.js'
import { ServiceStateService } from '../../domain/service-state/service-state-service.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

export function createServiceState({ database, state, clock }: Infrastructure) {
  const store = new IdentityStore()
  const serviceState = new ServiceStateService({ database, store, state, clock })
  return { services: { serviceState } } satisfies Domain
}
