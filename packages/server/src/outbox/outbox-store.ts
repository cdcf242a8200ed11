import type { Int64 } from '@hermod/protocol'
import type { EventKind } from '@hermod/protocol/events'
import type {
  Database,
  Prepared,
  PreparedPage,
  Queryable,
  StatementTx,
  Tx,
} from '../db/database.js'
import { sql } from '../db/kysely.js'
import { paddedForPlanCache } from '../lib/chunks.js'
import { type MaybePromise, thenMaybe } from '../lib/maybe-promise.js'
import type { UserChange } from './user-changes.js'

/** A row of the outbox of an app; `createdAt` in milliseconds since 1970. */
export interface OutboxRow {
  readonly position: number
  readonly kind: EventKind
  /** JSON, or text for {@link MessageReader}. */
  readonly payload: string
  readonly createdAt: number
}

/** A consumer's position in the outbox of an app, and the head. */
export interface ConsumerProgress {
  readonly appId: string
  readonly position: number
  readonly head: number
}

/** A change of a user at its latest position. */
export type PlacedUserChange = Omit<UserChange, 'userId'> & { readonly position: number }

/** The SQL of the outbox; outbox-statements.ts appends to it. */
export class OutboxStore {
  readonly #page: PreparedPage<{ appId: string; after: number }, OutboxRow>
  readonly #changes: PreparedPage<{ appId: string; userId: Int64; after: number }, PlacedUserChange>

  readonly #head: Prepared<{ appId: string }, { readonly position: number }>

  constructor(database: Database) {
    this.#head = database.prepared((db, param) =>
      db.selectFrom('outbox_heads').select('position').where('app_id', '=', param('appId')),
    )
    this.#page = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('outbox')
        .select(['position', 'kind', 'payload', 'created_at as createdAt'])
        .$narrowType<{ kind: EventKind }>()
        .where('app_id', '=', param('appId'))
        .where('position', '>', param('after'))
        .orderBy('position')
        .limit(limit),
    )
    this.#changes = database.preparedPage((db, param, limit) =>
      db
        .selectFrom('user_changes')
        .select(['kind', 'ref', 'position'])
        .where('app_id', '=', param('appId'))
        .where('user_id', '=', param('userId'))
        .where('position', '>', param('after'))
        .orderBy('position')
        .limit(limit),
    )
  }

  /**
   * Takes the next positions of an app; until the commit no other transaction can.
   * @param broadcastId the ID of an appended broadcast: later messages have IDs above it
   * @returns the last position
   */
  async advance(tx: Tx, appId: string, count: number, broadcastId = 0): Promise<number> {
    const { position } = await this.#advance(tx, appId, count, broadcastId)
    return position
  }

  /** Locks the head as {@link advance} does. @returns the greatest appended message ID; 0 = none */
  async lock(tx: Tx, appId: string): Promise<number> {
    const { last_msg_id } = await this.#advance(tx, appId, 0, 0)
    return last_msg_id
  }

  #advance(tx: Tx, appId: string, count: number, broadcastId: number) {
    return tx
      .insertInto('outbox_heads')
      .values({ app_id: appId, position: count, last_broadcast_id: broadcastId })
      .onConflict((conflict) =>
        conflict.column('app_id').doUpdateSet({
          position: sql`outbox_heads.position + excluded.position`,
          ...(broadcastId > 0 && { first_msg_id: 0, last_broadcast_id: broadcastId }),
        }),
      )
      .returning(['position', 'last_msg_id'])
      .executeTakeFirstOrThrow()
  }

  async insert(tx: Tx, appId: string, rows: readonly OutboxRow[]): Promise<void> {
    await tx
      .insertInto('outbox')
      .values(
        rows.map(({ position, kind, payload, createdAt }) => ({
          app_id: appId,
          position,
          kind,
          payload,
          created_at: createdAt,
        })),
      )
      .execute()
  }

  /** Lists rows of one app in the order of their positions, at most `limit`. */
  listAfter(db: Queryable, appId: string, after: number, limit: number): MaybePromise<OutboxRow[]> {
    return this.#page.all(db, { appId, after, limit })
  }

  /**
   * Lists what of a user has changed after a position, in the order of the positions, at most
   * `limit`. Several entries may share a position.
   */
  listUserChanges(
    db: Queryable,
    { appId, userId }: { readonly appId: string; readonly userId: Int64 },
    after: number,
    limit: number,
  ): MaybePromise<PlacedUserChange[]> {
    return this.#changes.all(db, { appId, userId, after, limit })
  }

  /** Deletes the changes of a user up to a position; the head is locked. */
  async deleteUserChanges(
    tx: Tx,
    { appId, userId }: { readonly appId: string; readonly userId: Int64 },
    upTo: number,
  ): Promise<void> {
    await tx
      .deleteFrom('user_changes')
      .where('app_id', '=', appId)
      .where('user_id', '=', userId)
      .where('position', '<=', upTo)
      .execute()
  }

  /** Rows of these kinds at positions above `after` and up to `upTo`. */
  listOfKinds(
    db: Queryable,
    appId: string,
    { after, upTo }: { readonly after: number; readonly upTo: number },
    kinds: readonly EventKind[],
  ): Promise<OutboxRow[]> {
    return db
      .selectFrom('outbox')
      .select(['position', 'kind', 'payload', 'created_at as createdAt'])
      .$narrowType<{ kind: EventKind }>()
      .where('app_id', '=', appId)
      .where('position', '>', after)
      .where('position', '<=', upTo)
      .where('kind', 'in', kinds)
      .execute()
  }

  async setPayload(tx: Tx, appId: string, position: number, payload: string): Promise<void> {
    await tx
      .updateTable('outbox')
      .set({ payload })
      .where('app_id', '=', appId)
      .where('position', '=', position)
      .execute()
  }

  /** The last position of each app that has one. @param appIds leaves out all others */
  async heads(db: Queryable, appIds?: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const all = db.selectFrom('outbox_heads').select(['app_id', 'position'])
    const rows = await (appIds
      ? all.where('app_id', 'in', paddedForPlanCache(appIds))
      : all
    ).execute()
    return new Map(rows.map(({ app_id, position }) => [app_id, position]))
  }

  /** The last position of an app; 0 = none */
  head(db: Queryable, appId: string): MaybePromise<number> {
    return thenMaybe(this.#head.first(db, { appId }), (row) => row?.position ?? 0)
  }

  /** The greatest ID of a broadcast in any of these apps; 0 = none */
  async lastBroadcastId(db: Queryable, appIds: readonly string[]): Promise<number> {
    const row = await db
      .selectFrom('outbox_heads')
      .select((eb) => eb.fn.max('last_broadcast_id').as('id'))
      .where('app_id', 'in', appIds)
      .executeTakeFirst()
    return row?.id ?? 0
  }

  /** The greatest ID of a message or broadcast of an app; 0 = none */
  async lastMessageId(db: Queryable, appId: string): Promise<number> {
    const row = await db
      .selectFrom('outbox_heads')
      .select(['last_msg_id', 'last_broadcast_id'])
      .where('app_id', '=', appId)
      .executeTakeFirst()
    return row ? Math.max(row.last_msg_id, row.last_broadcast_id) : 0
  }

  /** The first kept position of an app; null = none */
  async firstKept(db: Queryable, appId: string): Promise<number | null> {
    const row = await db
      .selectFrom('outbox')
      .select('position')
      .where('app_id', '=', appId)
      .orderBy('position')
      .limit(1)
      .executeTakeFirst()
    return row?.position ?? null
  }

  /** The first kept row of an app from a time on; null = none */
  async firstSince(db: Queryable, appId: string, time: number): Promise<number | null> {
    const row = await db
      .selectFrom('outbox')
      .select('position')
      .where('app_id', '=', appId)
      .where('created_at', '>=', time)
      .orderBy('position')
      .limit(1)
      .executeTakeFirst()
    return row?.position ?? null
  }

  /** Positions and times of the first kept rows, in order. */
  listOldest(
    db: Queryable,
    appId: string,
    limit: number,
  ): Promise<Pick<OutboxRow, 'position' | 'createdAt'>[]> {
    return db
      .selectFrom('outbox')
      .select(['position', 'created_at as createdAt'])
      .where('app_id', '=', appId)
      .orderBy('position')
      .limit(limit)
      .execute()
  }

  async deleteUpTo(tx: Tx, appId: string, position: number): Promise<void> {
    await tx
      .deleteFrom('outbox')
      .where('app_id', '=', appId)
      .where('position', '<=', position)
      .execute()
  }

  /** The apps with events ahead of the consumer. */
  listBehind(db: Queryable, consumer: string): Promise<ConsumerProgress[]> {
    return db
      .selectFrom('outbox_heads as h')
      .leftJoin('outbox_positions as p', (join) =>
        join.on('p.consumer', '=', consumer).onRef('p.app_id', '=', 'h.app_id'),
      )
      .select([
        'h.app_id as appId',
        'h.position as head',
        sql<number>`coalesce(p.position, 0)`.as('position'),
      ])
      .where(sql<boolean>`h.position > coalesce(p.position, 0)`)
      .execute()
  }

  /** The positions in one app of the consumers that have one. */
  async positionsIn(db: Queryable, appId: string): Promise<ReadonlyMap<string, number>> {
    const rows = await db
      .selectFrom('outbox_positions')
      .select(['consumer', 'position'])
      .where('app_id', '=', appId)
      .execute()
    return new Map(rows.map(({ consumer, position }) => [consumer, position]))
  }

  /** @returns 0 for a consumer that has not moved yet */
  async positionOf(db: Queryable, consumer: string, appId: string): Promise<number> {
    const row = await db
      .selectFrom('outbox_positions')
      .select('position')
      .where('consumer', '=', consumer)
      .where('app_id', '=', appId)
      .executeTakeFirst()
    return row?.position ?? 0
  }

  /** Moves a consumer in all apps past the rows from before a time that it has not handled. */
  async passRowsBefore(tx: Tx, consumer: string, time: number): Promise<void> {
    const younger = sql`(select min(o.position) - 1 from outbox o
      where o.app_id = outbox_positions.app_id and o.created_at >= ${time})`
    const head = sql`(select h.position from outbox_heads h where h.app_id = outbox_positions.app_id)`
    const passed = sql<number>`coalesce(${younger}, ${head})`
    await tx
      .updateTable('outbox_positions')
      .set({ position: passed })
      .where('consumer', '=', consumer)
      .where(sql<boolean>`position < ${passed}`)
      .execute()
  }

  /** @returns false when the consumer is not at `from` any more */
  async movePosition(
    tx: StatementTx,
    { consumer, appId }: { readonly consumer: string; readonly appId: string },
    from: number,
    to: number,
  ): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await tx
      .insertInto('outbox_positions')
      .values({ consumer, app_id: appId, position: to })
      .onConflict((conflict) =>
        conflict
          .columns(['consumer', 'app_id'])
          .doUpdateSet({ position: to })
          .where('outbox_positions.position', '=', from),
      )
      .executeTakeFirst()
    return (numInsertedOrUpdatedRows ?? 0n) > 0n
  }
}
