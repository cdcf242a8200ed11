import type { CachedTables } from '../../db/checks/cache-check.js'
import type { CacheDefinition } from '../../lib/invalidated-cache.js'
import type { CallerToken, TokenKey } from './token-store.js'

/** Tokens of users. */
export const tokenCache: CacheDefinition<TokenKey, CallerToken> = {
  name: 'user-tokens',
  maxEntries: 100_000,
  maxAgeMs: 1_000,
  tables: {
    // A user is made as a bot, or never one.
    // Rows are deleted long after they expired, when a stale entry no longer matters.
    user_tokens: { columns: ['expires_at', 'revoked_at', 'device_sn'], deletes: false },
  } satisfies CachedTables,
  keyOf: ({ appId, tokenHash }) => `${appId}/${tokenHash}`,
}
