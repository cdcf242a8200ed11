import type { CachedTables } from '../../../db/checks/cache-check.js'
import type { CacheDefinition } from '../../../lib/invalidated-cache.js'
import type { OpenIssuer } from './issuer-model.js'

/** All issuers of an application, by name; possibly none. */
export type AppIssuers = ReadonlyMap<string, OpenIssuer>

/** Issuers with their secrets decrypted, by app_id. */
export const issuerCache: CacheDefinition<string, AppIssuers> = {
  name: 'identity-issuers',
  maxEntries: 10_000,
  maxAgeMs: 1_000,
  tables: {
    identity_issuers: { columns: ['issuer', 'settings', 'sealed', 'updated_at'], inserts: true },
  } satisfies CachedTables,
  keyOf: (appId) => appId,
}
