import { IdentityStore } from '../../db/identity/identity-store.js'
import { AppSecrets } from '../../domain/apps/app-secrets.js'
import { AppService } from '../../domain/apps/app-service.js'
import type { SecretBox } from '../../lib/secrets/secret-box.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

/** @param options.operatorToken given through the configuration, or null */
export function createApps(
  { database, caches, stores, outbox, ids, clock }: Infrastructure,
  {
    operatorToken,
    secretBox,
  }: { readonly operatorToken: string | null; readonly secretBox: SecretBox },
) {
  const appSecrets = new AppSecrets({ database, store: stores.apps, secretBox })
  const apps = new AppService({
    database,
    store: stores.apps,
    histories: new IdentityStore(),
    secrets: appSecrets,
    outbox,
    appCache: caches.apps,
    adminTokenCache: caches.adminTokens,
    ids,
    clock,
    operatorToken,
  })
  return { services: { apps, appSecrets } } satisfies Domain
}
