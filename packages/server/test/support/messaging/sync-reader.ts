/** Sync beside the server on the same database, with the statements that it takes. */
import { MemoryBus } from '../../../dist/bus/memory-bus.js'
import { createCaches } from '../../../dist/context/caches.js'
import { Database } from '../../../dist/db/database.js'
import { MemberStore } from '../../../dist/domain/groups/membership/member-store.js'
import { BroadcastSenders } from '../../../dist/domain/messaging/conversations/broadcast-senders.js'
import { ConversationListStore } from '../../../dist/domain/messaging/readers/conversation-list-store.js'
import { ConversationStore } from '../../../dist/domain/messaging/conversations/conversation-store.js'
import { ReadRights } from '../../../dist/domain/messaging/conversations/readable-log.js'
import { ChangeStore } from '../../../dist/domain/messaging/log/change-store.js'
import { HistoryStore } from '../../../dist/domain/messaging/log/history-store.js'
import { StoredMessages } from '../../../dist/domain/messaging/log/stored-messages.js'
import { ChangeService } from '../../../dist/domain/messaging/reading/change-service.js'
import { PageReads } from '../../../dist/domain/messaging/reading/page-reads.js'
import { HeadContents } from '../../../dist/domain/messaging/sync/head-content.js'
import { HeadStore } from '../../../dist/domain/messaging/sync/head-store.js'
import {
  type SyncRequest,
  type SyncResult,
  SyncService,
} from '../../../dist/domain/messaging/sync/sync-service.js'
import { SyncStore } from '../../../dist/domain/messaging/sync/sync-store.js'
import { SyncWalk } from '../../../dist/domain/messaging/sync/sync-walk.js'
import { OutboxStore } from '../../../dist/outbox/outbox-store.js'
import { openDialect } from '../database/database-place.js'
import type { DataPlace } from '../database/sql.js'

export class SyncReader implements AsyncDisposable {
  readonly #database: Database
  readonly #service: SyncService
  #statements = 0
  #rows = 0

  constructor(place: DataPlace) {
    const dialect = openDialect(place)
    const readNow: typeof dialect.readNow = (sql, parameters) => {
      this.#statements++
      return dialect.readNow(sql, parameters)
    }
    const database = new Database({ ...dialect, readNow })
    this.#database = database
    const messageLog = new HistoryStore(database)
    const outbox = new OutboxStore(database)
    const changes = new ChangeService({
      pages: new PageReads(),
      database,
      store: new ChangeStore(database),
      messageLog,
      // Heads are read without it.
      finder: undefined as never,
    })
    const caches = createCaches({ database, bus: new MemoryBus() })
    this.#service = new SyncService({
      database,
      store: new SyncStore(database),
      rights: new ReadRights(new MemberStore(database, caches.members)),
      heads: new HeadStore(database),
      contents: new HeadContents({ database, changes, messageLog, pages: new PageReads() }),
      walk: new SyncWalk({
        database,
        store: outbox,
        messages: new StoredMessages(database),
        recent: { recentRows: () => null },
      }),
      outbox,
      lists: new ConversationListStore(database),
      broadcastSenders: new BroadcastSenders({
        database,
        store: new ConversationStore(database),
        cache: caches.broadcastSenders,
      }),
    })
  }

  /** @returns the page, the statements that it took, and the rows that were charged */
  async sync(
    user: { readonly appId: string; readonly userId: number },
    request: Partial<SyncRequest> = {},
  ): Promise<SyncResult & { readonly statements: number; readonly rows: number }> {
    this.#statements = 0
    this.#rows = 0
    const defaults = { after: '', list: false, cursor: '', have: [], limit: 200, window: 0 }
    const whole = { joinsSkipped: false, ...defaults, ...request }
    const page = await this.#service.sync(user, whole, (rows) => {
      this.#rows += rows
    })
    return { ...page, statements: this.#statements, rows: this.#rows }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#database[Symbol.asyncDispose]()
  }
}
