import { AppSecrets } from '../../domain/apps/app-secrets.js'
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
): { readonly apps: AppService; readonly appSecrets: AppSecrets } {
  const appSecrets = new AppSecrets({ database, store: stores.apps, secretBox })
  return {
    appSecrets,
    apps: new AppService({
      database,
      store: stores.apps,
      secrets: appSecrets,
      outbox,
      appCache: caches.apps,
      adminTokenCache: caches.adminTokens,
      ids,
      clock,
      operatorToken,
    }),
  }
}
