import { LRUCache } from 'lru-cache'

/**
 * A cache that drops the least recently used entries above a bound. Its memory grows with its
 * content: with `max` the library would allocate all entries at once.
 */
export function boundedCache<Key extends {}, Value extends {}>(
  maxEntries: number,
): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 })
}
