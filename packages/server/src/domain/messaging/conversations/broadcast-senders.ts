import type { Int64 } from '@hermod/protocol'
import { LRUCache } from 'lru-cache'
import type { CachedTables } from '../../../db/checks/cache-check.js'
import type { Database } from '../../../db/database.js'
import type { CacheDefinition, InvalidatedCache } from '../../../lib/invalidated-cache.js'
import type { ConversationStore } from './conversation-store.js'

/** The users of an app, or the system, who have ever sent a broadcast. */
type SenderIds = ReadonlySet<Int64>

/**
 * Senders of broadcasts by app_id. Every broadcast updates the count of users, so the first one of
 * a sender invalidates the entry.
 */
export const broadcastSenderCache: CacheDefinition<string, SenderIds> = {
  name: 'broadcasters',
  maxEntries: 10_000,
  maxAgeMs: 1_000,
  tables: { user_counts: { columns: ['last_broadcast_id'] } } satisfies CachedTables,
  keyOf: (appId) => appId,
}

/**
 * Tells which users have sent broadcasts, so that conversations with all other users cost nothing
 * extra (decision page 028).
 */
export class BroadcastSenders {
  /** The last known broadcast by app_id. */
  readonly #lastBroadcasts = new LRUCache<string, number>({
    maxSize: broadcastSenderCache.maxEntries,
    sizeCalculation: () => 1,
  })

  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: ConversationStore
      readonly cache: InvalidatedCache<string, SenderIds>
    },
  ) {}

  /**
   * Records that a broadcast precedes a message that this node has stored. Another node may have
   * sent it, and its invalidation may arrive later, so {@link find} reads the database again.
   */
  recordBroadcast(appId: string, messageId: number): void {
    if (messageId <= (this.#lastBroadcasts.get(appId) ?? 0)) return
    this.#lastBroadcasts.set(appId, messageId)
    this.options.cache.drop(appId)
  }

  /**
   * Finds the senders of an app. The first broadcast of a sender on another node is missed for at
   * most a second.
   */
  async find(appId: string): Promise<SenderIds> {
    const { database, store, cache } = this.options
    const known = cache.get(appId)
    if (known) return known
    const load = () => database.read((db) => store.listBroadcastSenders(db, appId))
    return (await cache.load(appId, load)) ?? noSenders
  }
}

const noSenders: SenderIds = new Set()
