import type { CachedTables } from '../../db/checks/cache-check.js'
import type { CacheDefinition } from '../../lib/invalidated-cache.js'
import type { UserKey, UserState } from './user-model.js'

/** The states of users. */
export const userStateCache: CacheDefinition<UserKey, UserState> = {
  name: 'user-states',
  maxEntries: 100_000,
  maxAgeMs: 1_000,
  tables: {
    users: { columns: ['status', 'deleted_at'] },
    // Without a row the setting has its default, and the user blocks no user and has no unasked contact.
    user_settings: { columns: ['stranger_chat'], inserts: true },
    contacts: { columns: ['is_blocked', 'is_unasked'], inserts: true },
  } satisfies CachedTables,
  keyOf: ({ appId, userId }) => `${appId}/${userId}`,
}
