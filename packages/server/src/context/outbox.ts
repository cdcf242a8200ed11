import { randomUUID } from 'node:crypto'
import type { Bus } from '../bus/bus.js'
import type { Database } from '../db/database.js'
import { StoredMessages } from '../domain/messaging/log/stored-messages.js'
import { LeaseStore } from '../jobs/lease-store.js'
import type { Clock } from '../lib/clock.js'
import type { Consumer } from '../outbox/consumer.js'
import type { ConsumerObserver } from '../outbox/consumer-runner.js'
import { Outbox } from '../outbox/outbox.js'
import { OutboxPurge } from '../outbox/outbox-purge.js'
import { OutboxStore } from '../outbox/outbox-store.js'
import { OutboxRelay } from '../outbox/relay.js'

export interface OutboxParts {
  readonly outbox: Outbox
  readonly outboxPurge: OutboxPurge
  readonly outboxRelay: OutboxRelay
  /** Something was committed that consumers of the application are to be told of. */
  appended(appId: string): void
}

export interface OutboxObserver extends ConsumerObserver {
  leftBehind(consumer: string, appId: string): void
}

const keptMs = 3 * 24 * 3_600_000

export function createOutbox({
  database,
  bus,
  clock,
  maxLagMs,
  consumers,
  observer,
}: {
  readonly database: Database
  readonly bus: Bus
  readonly clock: Clock
  readonly maxLagMs: number
  readonly consumers: readonly Consumer[]
  readonly observer: OutboxObserver
}): OutboxParts {
  const store = new OutboxStore(database)
  const appended = (appId: string) => bus.publish('outbox.appended', { appId })
  const outboxRelay = new OutboxRelay({
    database,
    store,
    messages: new StoredMessages(database),
    leases: new LeaseStore(database, clock),
    // Of the embedded database there is one process, which need not wait for the leases of the one before it.
    node: database.dialect.name === 'sqlite' ? 'embedded' : randomUUID(),
    consumers,
    observer,
  })
  bus.subscribe('outbox.appended', ({ appId }) => outboxRelay.wake(appId))
  return {
    outbox: new Outbox({ database, store, clock, appended }),
    outboxPurge: new OutboxPurge({
      database,
      store,
      clock,
      consumers: consumers.filter(({ isDurable }) => isDurable).map(({ name }) => name),
      keptMs,
      maxLagMs,
      leftBehind: (consumer, appId) => observer.leftBehind(consumer, appId),
    }),
    outboxRelay,
    appended,
  }
}
