import type { FileCheck } from '../../domain/files/file-check.js'
import { IntegrityService } from '../../domain/integrity/integrity-service.js'
import type { CertificateExpiry } from '../../domain/push/certificates/certificate-expiry.js'
import type { SecretService } from '../../domain/secrets/secret-service.js'
import type { Foundation } from '../foundation.js'

export function createIntegrity(
  { database, stores }: Foundation,
  {
    secrets,
    expiry,
    files,
  }: {
    readonly secrets: SecretService
    readonly expiry: CertificateExpiry
    readonly files: FileCheck
  },
): {
  readonly integrity: IntegrityService
} {
  const store = stores.integrity
  return { integrity: new IntegrityService({ database, store, secrets, expiry, files }) }
}
