import { IntegrityService } from '../../domain/integrity/integrity-service.js'
import type { SecretService } from '../../domain/secrets/secret-service.js'
import type { Foundation } from '../foundation.js'

export function createIntegrity(
  { database, stores }: Foundation,
  { secrets }: { readonly secrets: SecretService },
): {
  readonly integrity: IntegrityService
} {
  return { integrity: new IntegrityService({ database, store: stores.integrity, secrets }) }
}
