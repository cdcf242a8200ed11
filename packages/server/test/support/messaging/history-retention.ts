/** The maintenance of the history beside a server, with a clock of the test's choice. */
import type { Api } from '@hermod/testkit'
import { MemoryBus } from '../../../dist/bus/memory-bus.js'
import { createCaches } from '../../../dist/context/caches.js'
import { createStores } from '../../../dist/context/stores.js'
import { Database } from '../../../dist/db/database.js'
import { ChangeStore } from '../../../dist/domain/messaging/log/change-store.js'
import { ReceiptRequestStore } from '../../../dist/domain/messaging/positions/receipt-request-store.js'
import {
  HistoryRetention,
  type RemovedRows,
  type RetentionWalk,
} from '../../../dist/domain/messaging/retention/history-retention.js'
import { RetentionWalkStore } from '../../../dist/domain/messaging/retention/retention-walk-store.js'
import { Outbox } from '../../../dist/outbox/outbox.js'
import { openDialect } from '../database/database-place.js'
import type { DataPlace } from '../database/sql.js'

const dayMs = 86_400_000

export interface RetentionRun {
  /** What each transaction removed. */
  readonly steps: readonly RemovedRows[]
  readonly walks: readonly RetentionWalk[]
}

export class Retention implements AsyncDisposable {
  readonly #database: Database

  constructor(place: DataPlace) {
    this.#database = new Database(openDialect(place))
  }

  /**
   * Removes what an application is not to keep any more when its messages from `instant` on have
   * just come to the end of their time.
   * @param instant milliseconds since 1970
   */
  async run(appId: string, instant: number, signal = new AbortController().signal) {
    const database = this.#database
    let days = 0
    const clock = { now: () => instant + days * dayMs }
    const stores = createStores({
      database,
      clock,
      caches: createCaches({ database, bus: new MemoryBus() }),
    })
    const apps = (await database.read((db) => stores.apps.list(db))).filter(
      (app) => app.appId === appId,
    )
    days = apps[0]?.settings.history_days ?? 0
    const retention = new HistoryRetention({
      database,
      apps: { list: async () => apps },
      conversations: stores.conversations,
      walk: new RetentionWalkStore(database),
      messages: stores.messages,
      changes: new ChangeStore(database),
      receiptRequests: new ReceiptRequestStore(database),
      reactions: stores.reactions,
      pinnedMessages: stores.pinnedMessages,
      holds: stores.erasureHolds,
      outbox: new Outbox({ database, store: stores.outbox, clock, appended() {} }),
      clock,
    })
    const steps: RemovedRows[] = []
    const walks: RetentionWalk[] = []
    await retention.run(signal, {
      removed: (rows) => void steps.push(rows),
      walked: (walk) => void walks.push(walk),
    })
    return { steps, walks } satisfies RetentionRun
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]()
  }
}

/** Sets for how many days an application keeps its history. */
export async function keepHistory(operator: Api, appId: string, days: number): Promise<void> {
  await operator.succeed('POST', '/operator/v1/app/update', {
    body: { app_id: appId, settings: { history_days: days } },
  })
}

/** An instant after everything that has happened, and before everything that is yet to happen. */
export async function aMoment(): Promise<number> {
  const before = Date.now()
  while (Date.now() <= before + 1) await new Promise((resolve) => setImmediate(resolve))
  return Date.now()
}
