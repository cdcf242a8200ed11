import { camelCase } from '../../db/columns.js'
import type { Queryable, StatementTx, Tx } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { eventConsumersTable } from '../../db/schema.js'
import type { LogPosition } from './event-cursor.js'

/** A reader of the log with a stored place; times in ms. */
export interface StoredConsumer extends LogPosition {
  readonly appId: string
  readonly name: string
  readonly usedAt: number
  readonly createdAt: number
}

/** Key of a consumer's row. */
export type ConsumerKey = Pick<StoredConsumer, 'appId' | 'name'>

const columns = camelCase(eventConsumersTable)

/** Named consumers of the log. */
export class ConsumerStore {
  /** Lists by name. */
  async list(db: Queryable, appId: string): Promise<StoredConsumer[]> {
    return db
      .selectFrom('event_consumers')
      .select(columns)
      .where('app_id', '=', appId)
      .orderBy('name')
      .execute()
  }

  async find(db: Queryable, { appId, name }: ConsumerKey): Promise<StoredConsumer | null> {
    const row = await db
      .selectFrom('event_consumers')
      .select(columns)
      .where('app_id', '=', appId)
      .where('name', '=', name)
      .executeTakeFirst()
    return row ?? null
  }

  /** The lowest position of the consumers of an app; null: it has none. */
  async lowestPosition(db: Queryable, appId: string): Promise<number | null> {
    const row = await db
      .selectFrom('event_consumers')
      .select((eb) => eb.fn.min('position').as('position'))
      .where('app_id', '=', appId)
      .executeTakeFirst()
    return row?.position ?? null
  }

  /** The caller has locked the application. */
  async insert(tx: Tx, { appId, name, position, place, usedAt }: StoredConsumer): Promise<void> {
    const times = { used_at: usedAt, created_at: usedAt }
    await tx
      .insertInto('event_consumers')
      .values({ app_id: appId, name, position, place, ...times })
      .execute()
  }

  /**
   * Moves a consumer forwards; an earlier place changes only the time.
   * @returns false when there is no such consumer
   */
  async move(
    tx: StatementTx,
    { appId, name }: ConsumerKey,
    { position, place }: LogPosition,
    usedAt: number,
  ): Promise<boolean> {
    const isForwards = sql<boolean>`(position < ${position} or (position = ${position} and place < ${place}))`
    const { numUpdatedRows } = await tx
      .updateTable('event_consumers')
      .set({
        position: sql<number>`case when ${isForwards} then ${position} else position end`,
        place: sql<number>`case when ${isForwards} then ${place} else place end`,
        used_at: usedAt,
      })
      .where('app_id', '=', appId)
      .where('name', '=', name)
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** Notes that a consumer was used, at most once a minute. */
  async use(tx: StatementTx, { appId, name }: ConsumerKey, usedAt: number): Promise<void> {
    await tx
      .updateTable('event_consumers')
      .set({ used_at: usedAt })
      .where('app_id', '=', appId)
      .where('name', '=', name)
      .where('used_at', '<=', usedAt - 60_000)
      .executeTakeFirst()
  }

  /** @returns false when there is no such consumer */
  async delete(tx: StatementTx, { appId, name }: ConsumerKey): Promise<boolean> {
    const { numDeletedRows } = await tx
      .deleteFrom('event_consumers')
      .where('app_id', '=', appId)
      .where('name', '=', name)
      .executeTakeFirst()
    return numDeletedRows > 0n
  }

  /** Deletes the consumers of all apps that were not used since a time. */
  async deleteUnused(tx: Tx, before: number): Promise<void> {
    await tx.deleteFrom('event_consumers').where('used_at', '<', before).execute()
  }
}
