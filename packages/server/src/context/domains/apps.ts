import { AppService } from '../../domain/apps/app-service.js'
import type { SecretBox } from '../../lib/secrets/secret-box.js'
import type { Foundation } from '../foundation.js'

/** @param options.operatorToken given through the configuration, or null */
export function createApps(
  { database, caches, stores, outbox, ids, clock }: Foundation,
  {
    operatorToken,
    secretBox,
  }: { readonly operatorToken: string | null; readonly secretBox: SecretBox },
): { readonly apps: AppService } {
  return {
    apps: new AppService({
      database,
      store: stores.apps,
      outbox,
      appCache: caches.apps,
      adminTokenCache: caches.adminTokens,
      ids,
      clock,
      secretBox,
      operatorToken,
    }),
  }
}
