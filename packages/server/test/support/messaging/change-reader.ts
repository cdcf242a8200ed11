/** The change log of conversations, read beside the server from the same database. */
import { MemoryBus } from '../../../dist/bus/memory-bus.js'
import { createCaches } from '../../../dist/context/caches.js'
import { Database } from '../../../dist/db/database.js'
import { MemberStore } from '../../../dist/domain/groups/membership/member-store.js'
import { ConversationFinder } from '../../../dist/domain/messaging/conversations/conversation-finder.js'
import { PeerKinds } from '../../../dist/domain/messaging/conversations/peer-kinds.js'
import { ReadRights } from '../../../dist/domain/messaging/conversations/readable-log.js'
import { ChangeStore } from '../../../dist/domain/messaging/log/change-store.js'
import { HistoryStore } from '../../../dist/domain/messaging/log/history-store.js'
import { StoredMessages } from '../../../dist/domain/messaging/log/stored-messages.js'
import { broadcastStream } from '../../../dist/domain/messaging/model/conversation-model.js'
import {
  type ChangesOfLog,
  ChangeService,
} from '../../../dist/domain/messaging/reading/change-service.js'
import { PageReads } from '../../../dist/domain/messaging/reading/page-reads.js'
import type { DeliveredEvent } from '../../../dist/outbox/consumer.js'
import { OutboxStore } from '../../../dist/outbox/outbox-store.js'
import { eventsOfRow } from '../../../dist/outbox/rows/row-events.js'
import { openDialect } from '../database/database-place.js'
import type { DataPlace } from '../database/sql.js'

export type { ChangesOfLog }

/** More than the pages of these tests have. */
const maxBytes = 2 ** 24

/** As a reader is shown it, without the marks of others. */
export interface KnownMessage {
  readonly id: number
  readonly content: string
  readonly editedAt: number
}

export interface Statement {
  readonly sql: string
  readonly parameters: readonly unknown[]
}

export class ChangeReader implements AsyncDisposable {
  readonly database: Database
  /** What was read with {@link changesAfter}, since the list was emptied last. */
  readonly statements: Statement[] = []
  readonly #changes: ChangeService
  #eventsFrom = 0
  readonly #finder: ConversationFinder

  constructor(place: DataPlace) {
    const dialect = openDialect(place)
    const readNow: typeof dialect.readNow = (sql, parameters) => {
      this.statements.push({ sql, parameters })
      return dialect.readNow(sql, parameters)
    }
    const database = new Database({ ...dialect, readNow })
    this.database = database
    const messageLog = new HistoryStore(database)
    const caches = createCaches({ database, bus: new MemoryBus() })
    const finder = new ConversationFinder({
      kinds: new PeerKinds(database),
      rights: new ReadRights(new MemberStore(database, caches.members)),
      // Changes of broadcasts are read by the sender's ID.
      broadcastSenders: undefined as never,
    })
    this.#finder = finder
    this.#changes = new ChangeService({
      pages: new PageReads(),
      database,
      store: new ChangeStore(database),
      messageLog,
      finder,
    })
  }

  changesAfter(userId: number, peerId: number, after: number, limit = 100): Promise<ChangesOfLog> {
    return this.changesOf({ appId: 'test', userId }, peerId, { after, limit })
  }

  /** As {@link changesAfter}, with one entry for skipped numbers in a row. */
  joinedAfter(userId: number, peerId: number, after: number, limit = 100): Promise<ChangesOfLog> {
    const page = { after, limit, joinsSkipped: true }
    return this.changesOf({ appId: 'test', userId }, peerId, page)
  }

  /** As {@link changesAfter}, in any application. */
  async changesOf(
    reader: { readonly appId: string; readonly userId: number },
    peerId: number,
    page: { readonly after: number; readonly limit: number; readonly joinsSkipped?: boolean },
  ): Promise<ChangesOfLog> {
    const conversation = await this.#finder.get(this.database.reader, reader, peerId)
    return this.#changes.changesAfter(reader, conversation, { ...page, maxBytes })
  }

  broadcastChangesAfter(
    reader: { readonly appId: string; readonly userId: number },
    senderId: number,
    after: number,
  ): Promise<ChangesOfLog> {
    const stream = broadcastStream(reader.appId, senderId)
    return this.#changes.changesAfter(reader, stream, { after, limit: 100, maxBytes })
  }

  /**
   * The events of direct conversations of a user with change numbers, as the outbox has them,
   * oldest first.
   */
  async numberedEvents(userId: number): Promise<DeliveredEvent[]> {
    const store = new OutboxStore(this.database)
    const messages = new StoredMessages(this.database)
    const rows = await this.database.read((db) =>
      store.listAfter(db, 'test', this.#eventsFrom, 100_000),
    )
    const read = (await Promise.all(rows.map((row) => eventsOfRow(messages, 'test', row)))).flat()
    return read.filter(
      ({ change, payload }) =>
        change !== undefined &&
        'conversation' in payload &&
        [payload.conversation.low_id, payload.conversation.high_id].includes(userId),
    )
  }

  /** Later {@link numberedEvents} begin here. */
  async skipEvents(): Promise<void> {
    const store = new OutboxStore(this.database)
    this.#eventsFrom = await this.database.read((db) => store.head(db, 'test'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]()
  }
}

/** A reader's copy of a conversation, which follows the changes from a position on. */
export class Replica {
  #messages = new Map<number, KnownMessage>()
  #hiddenMessageId = 0
  position = 0

  constructor(
    private readonly reader: ChangeReader,
    readonly userId: number,
    readonly peerId: number,
  ) {}

  /** Applies the next page. @returns whether it was the last one */
  async follow(limit: number): Promise<boolean> {
    const { reader, userId, peerId, position } = this
    const page = await reader.changesAfter(userId, peerId, position, limit)
    if (page.changes === null) throw new Error(`told to refetch at ${position}`)
    for (const each of page.changes) {
      if (each.kind === 'skipped') continue
      if (each.kind === 'recalled') this.#messages.delete(each.tombstone.messageId)
      else {
        const { messageId: id, content, editedAt } = each.message
        this.#messages.set(id, { id, content, editedAt })
      }
    }
    this.#hiddenMessageId = page.hiddenMessageId
    this.position = page.next
    return page.next === page.end
  }

  async followToEnd(limit: number): Promise<void> {
    while (!(await this.follow(limit)));
  }

  /** Another one that knows the same. */
  copy(): Replica {
    const copy = new Replica(this.reader, this.userId, this.peerId)
    copy.#messages = new Map(this.#messages)
    copy.position = this.position
    return copy
  }

  /** Newest first. */
  get messages(): KnownMessage[] {
    return [...this.#messages.values()]
      .filter(({ id }) => id > this.#hiddenMessageId)
      .sort((a, b) => b.id - a.id)
  }
}
