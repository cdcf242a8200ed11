import type { BackupService } from '../../domain/backup/backup-service.js'
import type { VerificationService } from '../../domain/backup/verification-service.js'
import type { FileCheck } from '../../domain/files/file-check.js'
import { IntegrityService } from '../../domain/integrity/integrity-service.js'
import { IntegrityStore } from '../../domain/integrity/integrity-store.js'
import { IdentityStore } from '../../db/identity/identity-store.js'
import type { CertificateExpiry } from '../../domain/push/certificates/certificate-expiry.js'
import type { SecretService } from '../../domain/secrets/secret-service.js'
import { nodeNotices } from '../../nodes/node-notices.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

export function createIntegrity(
  { database }: Infrastructure,
  {
    secrets,
    expiry,
    files,
    backups,
    verification,
  }: {
    readonly secrets: SecretService
    readonly expiry: CertificateExpiry
    readonly files: FileCheck
    readonly backups: Pick<BackupService, 'faults'>
    readonly verification: Pick<VerificationService, 'faults'>
  },
) {
  const store = new IntegrityStore()
  const identity = new IdentityStore()
  const integrity = new IntegrityService({
    ...{ database, store, secrets, expiry, files },
    acknowledgeLosses: () => database.statement((tx) => identity.acknowledgeLosses(tx)),
    nodeNotices: () => nodeNotices(database),
    backupFaults: async () => [...(await backups.faults()), ...verification.faults()],
  })
  return { services: { integrity } } satisfies Domain
}
