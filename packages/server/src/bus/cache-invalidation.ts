import type { FactChannel } from '../lib/invalidated-cache.js'
import type { Bus } from './bus.js'

/** The channel of one cache; caches of the same name on all nodes share it. */
export function factChannel(bus: Bus, cache: string): FactChannel {
  return {
    publish: (key) => bus.publish('facts.changed', { cache, key }),
    subscribe(listener) {
      bus.subscribe('facts.changed', (message) => {
        if (message.cache === cache) listener(message.key)
      })
    },
  }
}
