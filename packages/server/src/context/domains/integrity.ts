import { IntegrityService } from '../../domain/integrity/integrity-service.js'
import type { CertificateExpiry } from '../../domain/push/certificates/certificate-expiry.js'
import type { SecretService } from '../../domain/secrets/secret-service.js'
import type { Foundation } from '../foundation.js'

export function createIntegrity(
  { database, stores }: Foundation,
  { secrets, expiry }: { readonly secrets: SecretService; readonly expiry: CertificateExpiry },
): {
  readonly integrity: IntegrityService
} {
  return { integrity: new IntegrityService({ database, store: stores.integrity, secrets, expiry }) }
}
