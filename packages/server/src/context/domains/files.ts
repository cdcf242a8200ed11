import { FileCredentialService } from '../../domain/files/file-credential-service.js'
import type { Foundation } from '../foundation.js'

export function createFiles(
  { database, stores, clock }: Foundation,
  { secretKey }: { readonly secretKey: Buffer },
): { readonly fileCredentials: FileCredentialService } {
  return {
    fileCredentials: new FileCredentialService({ database, users: stores.users, clock, secretKey }),
  }
}
