import { FileCredentialService } from '../../domain/files/file-credential-service.js'
import type { SecretKeys } from '../../lib/secrets/secret-keys.js'
import type { Foundation } from '../foundation.js'

export function createFiles(
  { database, stores, clock }: Foundation,
  { secretKeys }: { readonly secretKeys: SecretKeys },
): { readonly fileCredentials: FileCredentialService } {
  return {
    fileCredentials: new FileCredentialService({
      database,
      users: stores.users,
      clock,
      secretKeys,
    }),
  }
}
