import type { Int64 } from '@hermod/protocol'
import { LRUCache } from 'lru-cache'
import type { CachedTables } from '../../../db/checks/cache-check.js'
import type { Database } from '../../../db/database.js'
import type { CacheDefinition, InvalidatedCache } from '../../../lib/invalidated-cache.js'
import type { MaybePromise } from '../../../lib/maybe-promise.js'
import type { BroadcastMarkStore } from './broadcast-mark-store.js'

/** The users of an app, or the system, who have ever sent a broadcast. */
type BroadcastSenders = ReadonlySet<Int64>

/** Who has sent broadcasts, by app_id. A sender's first one changes it, and every one notes itself in the count of users. */
export const broadcasterCache: CacheDefinition<string, BroadcastSenders> = {
  name: 'broadcasters',
  maxEntries: 10_000,
  maxAgeMs: 1_000,
  tables: { user_counts: { columns: ['last_broadcast_id'] } } satisfies CachedTables,
  keyOf: (appId) => appId,
}

/** Tells in which conversations broadcasts may be, so that all others cost what they cost without any (decision page 028). */
export class Broadcasters {
  /** By app_id the last broadcast that was heard of. */
  readonly #noted = new LRUCache<string, number>({
    maxSize: broadcasterCache.maxEntries,
    sizeCalculation: () => 1,
  })

  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: BroadcastMarkStore
      readonly cache: InvalidatedCache<string, BroadcastSenders>
    },
  ) {}

  /**
   * A broadcast was stored before something that this node has stored, maybe by another node, and maybe before that is known here:
   * what is found from now on includes it.
   */
  note(appId: string, messageId: number): void {
    if (messageId <= (this.#noted.get(appId) ?? 0)) return
    this.#noted.set(appId, messageId)
    this.options.cache.drop(appId)
  }

  /** At once when it is cached; at most a second old. */
  find(appId: string): MaybePromise<BroadcastSenders> {
    const { database, store, cache } = this.options
    const load = () => database.read((db) => store.listSenders(db, appId))
    return cache.get(appId) ?? cache.load(appId, load).then((senders) => senders ?? nobody)
  }
}

const nobody: BroadcastSenders = new Set()
