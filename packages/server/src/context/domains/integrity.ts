import type { FileCheck } from '../../domain/files/file-check.js'
import { IntegrityService } from '../../domain/integrity/integrity-service.js'
import type { CertificateExpiry } from '../../domain/push/certificates/certificate-expiry.js'
import type { SecretService } from '../../domain/secrets/secret-service.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

export interface IntegrityServices {
  readonly integrity: IntegrityService
}

export function createIntegrity(
  { database, stores }: Infrastructure,
  {
    secrets,
    expiry,
    files,
  }: {
    readonly secrets: SecretService
    readonly expiry: CertificateExpiry
    readonly files: FileCheck
  },
): Domain<IntegrityServices> {
  const store = stores.integrity
  const integrity = new IntegrityService({ database, store, secrets, expiry, files })
  return { services: { integrity } }
}
