import type { Bus } from '../../bus/bus.js'
import type { Database } from '../../db/database.js'
import { type Clock, dayMs } from '../../lib/clock.js'
import type { Shares } from '../../nodes/shares.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import type { Consumer } from '../../outbox/consumer.js'
import type { ConsumerObserver } from '../../outbox/consumer-runner.js'
import { type LogHolder, OutboxPurge } from '../../outbox/outbox-purge.js'
import type { SeenPositions } from '../../outbox/seen-positions.js'
import { OutboxRelay } from '../../outbox/relay.js'
import { isDatabaseFailure } from '../database/database-log.js'
import type { Stores } from '../stores.js'

interface OutboxObserver extends ConsumerObserver {
  leftBehind(consumer: string, appId: string): void
}

const keptMs = 3 * dayMs

/** The relay, which hands events to their consumers, and the purge, which deletes old events. */
export function createRelay({
  database,
  bus,
  stores,
  shares,
  clock,
  maxLagMs,
  consumers,
  holders,
  observer,
}: {
  readonly database: Database
  readonly bus: Bus
  readonly stores: Pick<Stores, 'outbox' | 'storedMessages'>
  readonly shares: Shares
  readonly clock: Clock
  readonly maxLagMs: number
  readonly consumers: readonly Consumer[]
  readonly holders: readonly LogHolder[]
  readonly observer: OutboxObserver
}): { readonly relay: OutboxRelay; readonly purge: OutboxPurge } {
  const relay = new OutboxRelay({
    database,
    store: stores.outbox,
    messages: stores.storedMessages,
    shares,
    consumers,
    observer,
  })
  bus.subscribe('outbox.appended', ({ appId }) => relay.wake(appId))
  const purge = new OutboxPurge({
    database,
    store: stores.outbox,
    clock,
    consumers: consumers.map(({ name }) => name),
    holders,
    keptMs,
    maxLagMs,
    leftBehind: (consumer, appId) => observer.leftBehind(consumer, appId),
  })
  return { relay, purge }
}

/** Metrics and log lines of the consumers. */
export function outboxObserver(
  log: Logger,
  metrics: Metrics,
  seen: SeenPositions | null,
): OutboxObserver {
  return {
    reached: (app, position, time) => seen?.saw(app, position, time),
    lagging: (consumer, rows) => metrics.background.consumerLags(consumer, rows),
    missed: (consumer, app) => log.warn({ consumer, app }, 'outbox consumer has missed events'),
    failed(consumer, app, error) {
      if (!isDatabaseFailure(error))
        log.warn({ consumer, app, err: error }, 'outbox consumer failed and tries again')
    },
    leftBehind(consumer, app) {
      metrics.background.consumerLeftBehind(consumer)
      log.error(
        { consumer, app },
        'outbox consumer fell behind: events were deleted before it handled them',
      )
    },
  }
}
