/**
 * Removes old history until nothing is left to remove, in a process that can be killed. Its only
 * argument is JSON: the data folder, the address of the database (none: the embedded one of the
 * folder), the application, and the instant from which on messages stay. It writes a line after
 * each transaction.
 */
import { join } from 'node:path'
import { MemoryBus } from '../../../dist/bus/memory-bus.js'
import { createCaches } from '../../../dist/context/caches.js'
import { createStores } from '../../../dist/context/stores.js'
import { Database } from '../../../dist/db/database.js'
import { postgresDialect } from '../../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'
import { ChangeStore } from '../../../dist/domain/messaging/log/change-store.js'
import { ReceiptRequestStore } from '../../../dist/domain/messaging/positions/receipt-request-store.js'
import { HistoryRetention } from '../../../dist/domain/messaging/retention/history-retention.js'
import { RetentionWalkStore } from '../../../dist/domain/messaging/retention/retention-walk-store.js'
import { Outbox } from '../../../dist/outbox/outbox.js'

const { dataDir, databaseUrl, appId, instant } = JSON.parse(process.argv[2])
const database = new Database(
  databaseUrl
    ? postgresDialect({ url: databaseUrl, poolSize: 4, onError: () => {} })
    : sqliteDialect(join(dataDir, 'hermod.db')),
)
const clock = { now: () => instant + 86_400_000 }
const caches = createCaches({ database, bus: new MemoryBus() })
const stores = createStores({ database, clock, caches })
const retention = new HistoryRetention({
  database,
  apps: { list: async () => [{ appId, settings: { history_days: 1 } }] },
  conversations: stores.conversations,
  walk: new RetentionWalkStore(database),
  messages: stores.messages,
  changes: new ChangeStore(database),
  receiptRequests: new ReceiptRequestStore(database),
  reactions: stores.reactions,
  pinnedMessages: stores.pinnedMessages,
  holds: { isHeld: async () => false },
  outbox: new Outbox({ database, store: stores.outbox, clock, appended() {} }),
  clock,
})
await retention.run(new AbortController().signal, {
  removed: (rows) => process.stdout.write(`${JSON.stringify(rows)}\n`),
  walked() {},
})
await database[Symbol.asyncDispose]()
