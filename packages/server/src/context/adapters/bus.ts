import type { Bus } from '../../bus/bus.js'
import type { Carrier } from '../../bus/carrier.js'
import { MemoryBus } from '../../bus/memory-bus.js'
import { SharedBus } from '../../bus/shared-bus.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import { isDatabaseFailure } from '../database/database-log.js'

/** @param carrier null: there are no other nodes */
export function createBus(carrier: Carrier | null, metrics: Metrics, log: Logger): Bus {
  if (carrier === null) return new MemoryBus()
  const bus = new SharedBus({
    carrier,
    observer: {
      sent: (messages, bytes) => metrics.bus.sent(messages, bytes),
      received: (messages) => metrics.bus.received(messages),
      lost: (reason, messages) => metrics.bus.lost(reason, messages),
      reconnected() {
        metrics.bus.reconnected()
        log.info('messages of other nodes arrive again')
      },
      failed(error) {
        if (isDatabaseFailure(error)) return
        log.warn(
          { err: error },
          'messages of other nodes do not arrive; until they do, events of other nodes come up to a second late, and signals such as typing not at all',
        )
      },
    },
  })
  metrics.bus.watch(() => bus.isConnected)
  return bus
}
