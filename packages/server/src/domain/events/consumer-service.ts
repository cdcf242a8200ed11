import { AppError } from '@hermod/protocol'
import type { Database, Queryable } from '../../db/database.js'
import { type Clock, dayMs, minuteMs } from '../../lib/clock.js'
import type { AppService } from '../apps/app-service.js'
import type { ConsumerKey, ConsumerStore, StoredConsumer } from './consumer-store.js'
import type { LogPosition } from './event-cursor.js'
import type { LogReader } from './log-reader.js'

const maxConsumers = 20
const unusedMs = 7 * dayMs

/** A consumer for callers. */
export interface ConsumerSummary {
  readonly consumer: StoredConsumer
  /** Positions of the log after that of the consumer. */
  readonly behind: number
}

/** The named consumers of the log: readers whose places the service stores. */
export class ConsumerService {
  constructor(
    private readonly options: {
      readonly database: Database
      readonly store: ConsumerStore
      readonly reader: Pick<LogReader, 'head' | 'requireReached'>
      readonly apps: Pick<AppService, 'lockForUpdate'>
      readonly clock: Clock
    },
  ) {}

  /**
   * Returns the place of a consumer. The first use makes it, at the end of the log.
   *
   * @throws AppError event_consumer_limit_reached
   */
  async place(key: ConsumerKey): Promise<LogPosition> {
    const { database, store, clock } = this.options
    const known = await database.read((db) => store.find(db, key))
    if (known === null) return this.#create(key)
    const now = clock.now()
    if (known.usedAt <= now - minuteMs) await database.statement((tx) => store.use(tx, key, now))
    return { position: known.position, place: known.place }
  }

  /**
   * Moves a consumer forwards.
   *
   * @throws AppError event_cursor_invalid, event_consumer_not_found
   */
  async acknowledge(key: ConsumerKey, place: LogPosition): Promise<void> {
    const { database, store, reader, clock } = this.options
    await reader.requireReached(key.appId, place)
    if (!(await database.statement((tx) => store.move(tx, key, place, clock.now()))))
      throw new AppError('event_consumer_not_found')
  }

  /** Lists by name. */
  async list(appId: string): Promise<ConsumerSummary[]> {
    const { database, store, reader } = this.options
    const consumers = await database.read((db) => store.list(db, appId))
    if (consumers.length === 0) return []
    const head = await reader.head(appId)
    return consumers.map((consumer) => ({
      consumer,
      behind: Math.max(0, head - consumer.position),
    }))
  }

  /** @throws AppError event_consumer_not_found */
  async delete(key: ConsumerKey): Promise<void> {
    const { database, store } = this.options
    if (!(await database.statement((tx) => store.delete(tx, key))))
      throw new AppError('event_consumer_not_found')
  }

  /** Deletes the consumers that were not used for 7 days. */
  async deleteUnused(): Promise<void> {
    const { database, store, clock } = this.options
    await database.transaction((tx) => store.deleteUnused(tx, clock.now() - unusedMs))
  }

  /** Returns the position up to which all consumers of an app have read; null: it has none. */
  lowestPosition(db: Queryable, appId: string): Promise<number | null> {
    return this.options.store.lowestPosition(db, appId)
  }

  async #create(key: ConsumerKey): Promise<LogPosition> {
    const { database, store, reader, apps, clock } = this.options
    const { appId, name } = key
    const position = await reader.head(appId)
    return database.transaction(async (tx) => {
      await apps.lockForUpdate(tx, appId)
      const consumers = await store.list(tx, appId)
      // Another call may have made it in the meantime.
      const known = consumers.find((each) => each.name === name)
      if (known) return { position: known.position, place: known.place }
      if (consumers.length >= maxConsumers) throw new AppError('event_consumer_limit_reached')
      const now = clock.now()
      const consumer = { ...key, position, place: 0, usedAt: now, createdAt: now }
      await store.insert(tx, consumer)
      return { position, place: 0 }
    })
  }
}
