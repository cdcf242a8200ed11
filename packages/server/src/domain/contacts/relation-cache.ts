import type { CachedTables } from '../../db/cache-check.js'
import type { CacheDefinition } from '../../lib/invalidated-cache.js'
import type { Side } from './contact-model.js'

/** What one user holds about another, as far as it decides on messages; also that it is nothing. */
export const relationCache: CacheDefinition<Side> = {
  name: 'relations',
  maxEntries: 100_000,
  maxAgeMs: 1_000,
  tables: { contacts: { columns: ['state', 'is_blocked'], inserts: true } } satisfies CachedTables,
  keyOf: ({ appId, userId, peerId }) => `${appId}/${userId}/${peerId}`,
}
