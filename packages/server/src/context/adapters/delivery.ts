import { appStatus } from '@hermod/protocol'
import type { Bus } from '../../bus/bus.js'
import type { Database } from '../../db/database.js'
import type { Epoch } from '../../db/identity/epoch.js'
import { NodeDelivery } from '../../delivery/node-delivery.js'
import { MembershipStore } from '../../delivery/receivers/membership-store.js'
import type { Clock } from '../../lib/clock.js'
import type { Logger } from '../../observability/log.js'
import type { Metrics } from '../../observability/metrics.js'
import type { SeenPositions } from '../../outbox/seen-positions.js'
import type { SessionRegistry } from '../../sessions/registry.js'
import { isDatabaseFailure } from '../database/database-log.js'
import type { Stores } from '../stores.js'

/** Delivery of events to the sessions of this node, with its metrics and log lines. */
export function createDelivery({
  database,
  bus,
  epoch,
  sessions,
  stores,
  clock,
  metrics,
  seen,
  log,
}: {
  readonly database: Database
  readonly bus: Bus
  readonly epoch: Epoch
  readonly sessions: SessionRegistry
  readonly stores: Stores
  readonly clock: Clock
  readonly metrics: Metrics
  /** null where history cannot be lost while the process runs */
  readonly seen: SeenPositions | null
  readonly log: Logger
}): NodeDelivery {
  const { delivery } = metrics
  return new NodeDelivery({
    ...{ database, bus, epoch, sessions },
    outbox: stores.outbox,
    messages: stores.storedMessages,
    readers: new MembershipStore(database),
    now: () => clock.now(),
    async isRevoked(appId, tokenHash) {
      const token = await database.read((db) => stores.tokens.find(db, appId, tokenHash))
      return token === null || token.isRevoked
    },
    async isActive(appId) {
      const app = await database.read((db) => stores.apps.find(db, appId))
      return app?.status === appStatus.normal
    },
    observer: {
      began: (events, lagMs) => delivery.began(events, lagMs),
      reached: (app, position, time) => seen?.saw(app, position, time),
      fannedOut: (receivers, seconds) => delivery.fannedOut(receivers, seconds),
      skipped: () => delivery.skipped(),
      missed(app) {
        delivery.missed()
        log.warn(
          { app },
          'events were purged before delivery: all sessions of the app have to sync',
        )
      },
      failed(app, error) {
        if (!isDatabaseFailure(error))
          log.error({ app, err: error }, 'delivery failed and tries again')
      },
    },
  })
}
