import type { CachedTables } from '../../db/checks/cache-check.js'
import type { CacheDefinition } from '../../lib/invalidated-cache.js'
import type { App, StoredAdminToken } from './app-model.js'

const bounds = { maxEntries: 10_000, maxAgeMs: 1_000 }

/** Apps, by app_id. */
export const appCache: CacheDefinition<string, App> = {
  name: 'apps',
  ...bounds,
  tables: {
    apps: {
      columns: [
        'name',
        'status',
        'open_registration',
        'registration_secret',
        'file_link_key',
        'settings',
      ],
    },
  } satisfies CachedTables,
  keyOf: (appId) => appId,
}

/** Admin tokens, by hash. */
export const adminTokenCache: CacheDefinition<string, StoredAdminToken> = {
  name: 'admin-tokens',
  ...bounds,
  tables: {
    admin_tokens: { columns: ['name', 'scopes', 'expires_at', 'revoked_at'] },
  } satisfies CachedTables,
  keyOf: (tokenHash) => tokenHash,
}
