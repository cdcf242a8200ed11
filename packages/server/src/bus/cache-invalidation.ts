import type { CacheInvalidation } from '../lib/invalidated-cache.js'
import type { Bus } from './bus.js'

/** The channel of one cache; caches of the same name on all nodes share it. */
export function cacheInvalidation(bus: Bus, cache: string): CacheInvalidation {
  return {
    publish: (key) => bus.publish('cache.invalidated', { cache, key }),
    subscribe(listener) {
      bus.subscribe('cache.invalidated', (message) => {
        if (message.cache === cache) listener(message.key)
      })
    },
    onLoss: (listener) => bus.onReconnected(listener),
  }
}
