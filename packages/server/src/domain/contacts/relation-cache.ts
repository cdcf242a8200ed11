import type { CachedTables } from '../../db/checks/cache-check.js'
import type { CacheDefinition } from '../../lib/invalidated-cache.js'
import type { Contact, ContactSide } from './contact-model.js'

/** What one user holds of another, as far as sends ask for it. */
export type Relation = Pick<Contact, 'state' | 'isBlocked'>

/** What one user has stored about another, as far as it decides on messages; also that there is nothing. */
export const relationCache: CacheDefinition<ContactSide, Relation> = {
  name: 'relations',
  maxEntries: 100_000,
  maxAgeMs: 1_000,
  tables: { contacts: { columns: ['state', 'is_blocked'], inserts: true } } satisfies CachedTables,
  keyOf: ({ appId, userId, peerId }) => `${appId}/${userId}/${peerId}`,
}
