import type { AppService } from '../../domain/apps/app-service.js'
import { ConsumerService } from '../../domain/events/consumer-service.js'
import { ConsumerStore } from '../../domain/events/consumer-store.js'
import { EventIds } from '../../domain/events/event-ids.js'
import { EventLogService } from '../../domain/events/event-log-service.js'
import { EventWaits } from '../../domain/events/event-waits.js'
import { LogReader } from '../../domain/events/log-reader.js'
import { LoggedEvents } from '../../domain/events/logged-events.js'
import { hourMs } from '../../lib/clock.js'
import type { Domain } from '../domain.js'
import type { Infrastructure } from '../infrastructure.js'

/** The log of events, its named consumers and the calls that wait for events. */
export function createEventLog(
  { database, stores, clock, epoch, budget }: Infrastructure,
  { apps }: { readonly apps: AppService },
) {
  const { outbox, storedMessages } = stores
  const reader = new LogReader({
    database,
    outbox,
    events: new LoggedEvents(storedMessages, new EventIds(epoch.histories)),
    budget,
  })
  const consumers = new ConsumerService({
    database,
    store: new ConsumerStore(),
    reader,
    apps,
    clock,
  })
  const waits = new EventWaits({
    // The embedded database has one node, which wakes its own readers.
    heads:
      database.dialect.name === 'sqlite'
        ? null
        : async () => database.read((db) => outbox.heads(db)),
  })
  return {
    services: {
      eventLog: new EventLogService({ reader, waits, consumers, histories: epoch.histories }),
    },
    followers: [
      { start: async () => {}, wake: (appId) => waits.wake(appId), stop: async () => {} },
    ],
    logHolders: [(db, appId) => consumers.lowestPosition(db, appId)],
    maintenanceTasks: [
      { name: 'unused event consumers', intervalMs: hourMs, run: () => consumers.deleteUnused() },
    ],
  } satisfies Domain
}
