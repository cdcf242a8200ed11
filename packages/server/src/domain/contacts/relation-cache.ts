import type { CachedTables } from '../../db/checks/cache-check.js'
import type { CacheDefinition } from '../../lib/invalidated-cache.js'
import type { Contact, ContactSide } from './contact-model.js'

/** The part of a contact that decides on messages and additions to groups. */
export type Relation = Pick<Contact, 'state' | 'isBlocked' | 'isUnasked'>

/** Contact states by pair; absent relations are cached too. */
export const relationCache: CacheDefinition<ContactSide, Relation> = {
  name: 'relations',
  maxEntries: 100_000,
  maxAgeMs: 1_000,
  tables: {
    contacts: { columns: ['state', 'is_blocked', 'is_unasked'], inserts: true },
  } satisfies CachedTables,
  keyOf: ({ appId, userId, peerId }) => `${appId}/${userId}/${peerId}`,
}
