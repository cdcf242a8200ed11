/** The outbox beside a database of its own, without the rest of the service. */
import { join } from 'node:path'
import {
  type Backend,
  type BackendDatabase,
  memoryDisk,
  TempFolder,
  waitFor,
} from '@hermod/testkit'
import { Database } from '../../../dist/db/database.js'
import { postgresDialect } from '../../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'
import type { SeenRow } from '../../../dist/db/identity/identity-store.js'
import { IdReservations } from '../../../dist/db/id-reservations.js'
import { migrate } from '../../../dist/db/migrations/migrate.js'
import { StoredMessages } from '../../../dist/domain/messaging/log/stored-messages.js'
import { directConversation } from '../../../dist/domain/messaging/model/conversation-model.js'
import { MessageWriter } from '../../../dist/domain/messaging/sending/message-writer.js'
import { IdGenerator } from '../../../dist/lib/ids/ids.js'
import { type Shares, soleShares } from '../../../dist/nodes/shares.js'
import type { Consumer, DeliveredEvent } from '../../../dist/outbox/consumer.js'
import type { HandOver } from '../../../dist/outbox/hand-over.js'
import { Outbox } from '../../../dist/outbox/outbox.js'
import { OutboxPurge } from '../../../dist/outbox/outbox-purge.js'
import { OutboxStore } from '../../../dist/outbox/outbox-store.js'
import { OutboxRelay } from '../../../dist/outbox/relay.js'
import type { RecordedEvent } from '../../../dist/outbox/rows/recorded-event.js'

export const patience = { timeoutMs: 60_000 }
export const hourMs = 3_600_000

/** A clock that tests can set forward; message IDs follow the real one. */
export class TestClock {
  aheadMs = 0
  now = (): number => Date.now() + this.aheadMs
}

/** Where several nodes keep their data. */
export class OutboxDatabase implements AsyncDisposable {
  readonly #folder = new TempFolder('outbox', memoryDisk())

  private constructor(readonly database: BackendDatabase) {}

  static async create(backend: Backend): Promise<OutboxDatabase> {
    const place = new OutboxDatabase(await backend.createDatabase())
    await using first = place.openDatabase()
    await migrate(first)
    return place
  }

  get path(): string {
    return join(this.#folder.path, 'hermod.db')
  }

  openDatabase(): Database {
    const { url } = this.database
    return new Database(
      url === undefined
        ? sqliteDialect(this.path)
        : postgresDialect({ url, poolSize: 12, onError: () => {} }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.database[Symbol.asyncDispose]()
    this.#folder[Symbol.dispose]()
  }
}

/** A consumer that remembers what it got. */
export class TestConsumer implements Consumer {
  readonly events: DeliveredEvent[] = []
  readonly missedApps: string[] = []
  /** Called first; what it throws is what handling fails with. */
  before: (events: readonly DeliveredEvent[]) => void | Promise<void> = () => {}
  readonly unwantedApps = new Set<string>()
  /** How many times it was asked. */
  needsCalls = 0

  constructor(readonly name: string) {}

  async needs(appId: string): Promise<boolean> {
    this.needsCalls++
    return !this.unwantedApps.has(appId)
  }

  async handle(events: readonly DeliveredEvent[]): Promise<void> {
    await this.before(events)
    this.events.push(...events)
  }

  async missed(appId: string): Promise<void> {
    this.missedApps.push(appId)
  }

  /** Waits for so many events. */
  got(count: number): Promise<true> {
    return waitFor(() => this.events.length >= count && true, {
      what: `${this.name} gets ${count} events, has ${this.events.length}`,
      ...patience,
    })
  }
}

/** Writes and follows as one node of a service does. */
export class OutboxNode implements AsyncDisposable {
  readonly clock = new TestClock()
  readonly outbox: Outbox
  readonly store: OutboxStore
  readonly purge: OutboxPurge
  readonly relay: OutboxRelay
  readonly messages: StoredMessages
  readonly ids: IdGenerator
  /** Receives new messages in memory. */
  receiver: HandOver | null = null
  readonly writer: MessageWriter
  readonly leftBehind: string[] = []
  /** The last rows that sends have appended. */
  readonly reached: SeenRow[] = []
  readonly failures: unknown[] = []
  /** False: commits wake nobody, so that only looking finds what is new. */
  isWaking = true

  constructor(
    readonly database: Database,
    consumers: readonly Consumer[] = [],
    shares: Shares = soleShares,
  ) {
    const { clock } = this
    this.store = new OutboxStore(database)
    this.messages = new StoredMessages(database)
    const appended = (appId: string) => {
      if (this.isWaking) this.relay.wake(appId)
    }
    this.outbox = new Outbox({ database, store: this.store, clock, appended })
    this.ids = new IdGenerator(new IdReservations(database).reserve, Date.now)
    this.writer = new MessageWriter({
      database,
      ids: this.ids,
      clock,
      transactionLifeMs: hourMs,
      maxBatchMessages: 256,
      maxQueuedMessages: 10_000,
      maxQueuedBytes: 100_000_000,
      observer: { finished: () => {}, refused: () => {} },
      outbox: this.outbox,
      broadcastSenders: { recordBroadcast: () => {} },
      handOver: {
        wants: (appId) => this.receiver?.wants(appId) ?? false,
        handOver: (...row) => this.receiver?.handOver(...row),
      },
      handOverFailed: (error) => this.failures.push(error),
      appended: (appId, position, time) => {
        this.reached.push({ appId, position, time })
        appended(appId)
      },
    })
    this.relay = new OutboxRelay({
      database,
      store: this.store,
      messages: this.messages,
      shares,
      consumers,
      observer: {
        lagging: () => {},
        reached: () => {},
        missed: () => {},
        failed: (_consumer, _appId, error) => this.failures.push(error),
      },
      pollMs: 100,
      retryMs: 20,
    })
    this.purge = new OutboxPurge({
      database,
      store: this.store,
      clock,
      consumers: consumers.map(({ name }) => name),
      holders: [],
      keptMs: 3 * 24 * hourMs,
      maxLagMs: 7 * 24 * hourMs,
      leftBehind: (consumer, appId) => this.leftBehind.push(`${consumer} in ${appId}`),
    })
  }

  append(...events: readonly RecordedEvent[]): Promise<void> {
    return this.database.transaction(async (tx) => this.outbox.append(tx, ...events))
  }

  /** Sends a text between two users. @returns the message ID */
  async send(appId: string, [from, to]: readonly [number, number], text: string): Promise<number> {
    const [id = 0] = await this.writer.write({
      transactionId: null,
      drafts: [draft(appId, [from, to], text)],
    })
    return id
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.relay.stop()
    await this.writer.idle()
    await this.database[Symbol.asyncDispose]()
  }
}

export function draft(appId: string, [from, to]: readonly [number, number], content: string) {
  return {
    conversation: directConversation(appId, from, to),
    senderId: from,
    senderDeviceSn: 0,
    contentType: 0,
    content,
    attachment: '',
    config: '',
    ext: '',
    isSystem: false,
  }
}
