import type { Bus, ListenerFailed } from '../../bus/bus.js'
import type { Carrier } from '../../bus/carrier.js'
import { MemoryBus } from '../../bus/memory-bus.js'
import { SharedBus } from '../../bus/shared-bus.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'

/** @param carrier null: there are no other nodes */
export function createBus(carrier: Carrier | null, metrics: Metrics, log: Logger): Bus {
  const listenerFailed: ListenerFailed = (topic, error) =>
    log.error({ topic, err: error }, 'a message of the bus was not handled')
  if (carrier === null) return new MemoryBus(listenerFailed)
  let lostAt: number | null = null
  const bus = new SharedBus({
    carrier,
    listenerFailed,
    observer: {
      sent: (topics, bytes) => metrics.bus.sent(topics, bytes),
      received: (topic) => metrics.bus.received(topic),
      lost: (reason, topic) => metrics.bus.lost(reason, topic),
      connected() {
        if (lostAt === null) return
        metrics.bus.reconnected((performance.now() - lostAt) / 1_000)
        lostAt = null
        log.info('messages of other nodes arrive again')
      },
      disconnected(error) {
        lostAt = performance.now()
        log.warn(
          { cause: (error as Error).message },
          'messages of other nodes do not arrive; until they do, events of other nodes come up to a second late, and signals such as typing not at all',
        )
      },
    },
  })
  metrics.bus.watch(() => bus.isConnected)
  return bus
}
