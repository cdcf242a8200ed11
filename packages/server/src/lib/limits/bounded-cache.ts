import { LRUCache } from 'lru-cache'

/**
 * Remembers so many entries; those that were not used for the longest time go first. It grows with what it holds: a cache of the library
 * with a `max` takes the memory for all entries at once.
 */
export function boundedCache<Key extends {}, Value extends {}>(
  maxEntries: number,
): LRUCache<Key, Value> {
  return new LRUCache({ maxSize: maxEntries, sizeCalculation: () => 1 })
}
