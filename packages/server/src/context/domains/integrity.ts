import { IntegrityService } from '../../domain/integrity/integrity-service.js'
import type { Foundation } from '../foundation.js'

export function createIntegrity({ database, stores }: Foundation): {
  readonly integrity: IntegrityService
} {
  return { integrity: new IntegrityService({ database, store: stores.integrity }) }
}
