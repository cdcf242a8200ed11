import type { ActorEventKind, Event, EventKind, EventPayloads } from '@hermod/protocol/events'
import { camelCase, convert, snakeCase, type TableRow } from '../../../db/columns.js'
import type { Database, Queryable, StatementTx, Tx } from '../../../db/database.js'
import { type ExpressionBuilder, sql } from '../../../db/kysely.js'
import { type Schema, webhookEventsTable } from '../../../db/schema.js'
import { chunksOf } from '../../../lib/chunks.js'
import { stringifyJson } from '../../../lib/json.js'
import type { EndpointKey } from '../endpoints/endpoint-model.js'
import { ofExistingEndpoints } from '../endpoints/existing-endpoints.js'
import {
  type EventPosition,
  type FailedAttempt,
  forced,
  type StoredEvent,
  type WaitingEvent,
} from './waiting-event.js'

/** Numbers of the stored events of an endpoint. */
export interface WaitingCounts {
  readonly waiting: number
  readonly dead: number
}

/** Rows of one statement. */
const rowsPerInsert = 100
/** Rows of one transaction that changes payloads. */
const rowsPerRewrite = 1_000

type EventRow = TableRow<typeof webhookEventsTable>
type RowSortKey = Pick<EventRow, 'endpointId' | 'position' | 'place'>

/** Events of endpoints that wait for another attempt, or are dead. */
export class WaitingEventStore {
  constructor(private readonly database: Database) {}

  /** Stores events; one that is stored already stays as it is. Those of deleted endpoints are left out. */
  async add(events: readonly StoredEvent[], attempt: FailedAttempt): Promise<void> {
    await this.database.transaction(async (tx) => {
      for (const part of chunksOf(await ofExistingEndpoints(tx, events), rowsPerInsert))
        await tx
          .insertInto('webhook_events')
          .values(part.map((event) => waitingRow(event, attempt)))
          .onConflict((conflict) => conflict.doNothing())
          .execute()
    })
  }

  /** Lists the places of the waiting events of an endpoint in the order of the log. */
  async listWaiting(db: Queryable, key: EndpointKey): Promise<WaitingEvent[]> {
    return db
      .selectFrom('webhook_events')
      .select(camelCase(['position', 'place', 'attempts', 'next_at']))
      .select('event_key as key')
      .where('app_id', '=', key.appId)
      .where('endpoint_id', '=', key.endpointId)
      .where('state', '=', 'waiting')
      .orderBy('position')
      .orderBy('place')
      .execute()
  }

  /** Lists the places of dead events after a position. */
  async listDead(db: Queryable, key: EndpointKey, after: number): Promise<EventPosition[]> {
    return db
      .selectFrom('webhook_events')
      .select(['position', 'place'])
      .where('app_id', '=', key.appId)
      .where('endpoint_id', '=', key.endpointId)
      .where('state', '=', 'dead')
      .where('position', '>', after)
      .execute()
  }

  async find(db: Queryable, key: EndpointKey, place: EventPosition): Promise<StoredEvent | null> {
    const row = await db
      .selectFrom('webhook_events')
      .select(camelCase(webhookEventsTable))
      .where('app_id', '=', key.appId)
      .where('endpoint_id', '=', key.endpointId)
      .where('position', '=', place.position)
      .where('place', '=', place.place)
      .executeTakeFirst()
    return row ? toEvent(row) : null
  }

  async update(
    tx: StatementTx,
    key: EndpointKey,
    { position, place }: EventPosition,
    attempt: FailedAttempt,
  ): Promise<void> {
    await tx
      .updateTable('webhook_events')
      .set(attemptColumns(attempt))
      .where('app_id', '=', key.appId)
      .where('endpoint_id', '=', key.endpointId)
      .where('position', '=', position)
      .where('place', '=', place)
      .executeTakeFirst()
  }

  /** Makes the waiting events of an endpoint due at once; these attempts do not count. */
  async makeDue(tx: Tx, { appId, endpointId }: EndpointKey): Promise<void> {
    await tx
      .updateTable('webhook_events')
      .set({ next_at: forced })
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .where('state', '=', 'waiting')
      .where('next_at', '>', 0)
      .execute()
  }

  async remove(
    tx: StatementTx,
    key: EndpointKey,
    { position, place }: EventPosition,
  ): Promise<void> {
    await tx
      .deleteFrom('webhook_events')
      .where('app_id', '=', key.appId)
      .where('endpoint_id', '=', key.endpointId)
      .where('position', '=', position)
      .where('place', '=', place)
      .executeTakeFirst()
  }

  /**
   * Deletes the oldest dead events of an endpoint, if they were committed before a time.
   * @returns their number
   */
  async deleteDead(
    tx: Tx,
    { appId, endpointId }: EndpointKey,
    { before, limit }: { readonly before: number; readonly limit: number },
  ): Promise<number> {
    const oldest = await tx
      .selectFrom('webhook_events')
      .select(['position', 'created_at'])
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .where('state', '=', 'dead')
      .orderBy('position')
      .limit(limit)
      .execute()
    const last = oldest.filter(({ created_at }) => created_at < before).at(-1)
    if (!last) return 0
    const { numDeletedRows } = await tx
      .deleteFrom('webhook_events')
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .where('state', '=', 'dead')
      .where('position', '<=', last.position)
      .executeTakeFirst()
    return Number(numDeletedRows)
  }

  /** Numbers of waiting and dead events by endpoint. */
  async counts(db: Queryable, appId: string): Promise<ReadonlyMap<number, WaitingCounts>> {
    const rows = await db
      .selectFrom('webhook_events')
      .select((eb) => ['endpoint_id', 'state', eb.fn.countAll().as('count')])
      .where('app_id', '=', appId)
      .groupBy(['endpoint_id', 'state'])
      .execute()
    const counts = new Map<number, { waiting: number; dead: number }>()
    for (const { endpoint_id, state, count } of rows) {
      const id = Number(endpoint_id)
      const known = counts.get(id) ?? { waiting: 0, dead: 0 }
      counts.set(id, { ...known, [state]: Number(count) })
    }
    return counts
  }

  /**
   * Makes the oldest dead events wait again, without attempts.
   * @returns their number
   */
  async revive(
    tx: Tx,
    { appId, endpointId }: EndpointKey,
    {
      kinds,
      key,
      limit,
    }: { readonly kinds: readonly string[]; readonly key: string; readonly limit: number },
  ): Promise<number> {
    const isChosen = (eb: ExpressionBuilder<Schema, 'webhook_events'>) =>
      eb.and([
        eb('app_id', '=', appId),
        eb('endpoint_id', '=', endpointId),
        eb('state', '=', 'dead'),
        ...(kinds.length > 0 ? [eb('kind', 'in', kinds)] : []),
        ...(key === '' ? [] : [eb('event_key', '=', key)]),
      ])
    const beyond = await tx
      .selectFrom('webhook_events')
      .select(['position', 'place'])
      .where(isChosen)
      .orderBy('position')
      .orderBy('place')
      .offset(limit)
      .limit(1)
      .executeTakeFirst()
    const all = tx
      .updateTable('webhook_events')
      .set({ state: 'waiting', attempts: 0, next_at: forced })
      .where(isChosen)
    // A range, since PostgreSQL may compare each row with each row of a list.
    const { numUpdatedRows } = await (beyond === undefined
      ? all
      : all.where((eb) =>
          eb(eb.refTuple('position', 'place'), '<', eb.tuple(beyond.position, beyond.place)),
        )
    ).executeTakeFirst()
    return Number(numUpdatedRows)
  }

  /**
   * Changes the payloads of the stored events of some kinds.
   * @param change returns the new payload, or null to leave the event as it is
   * @param signal ends it early
   */
  async rewrite(
    appId: string,
    kinds: readonly EventKind[],
    change: (event: Event) => EventPayloads[ActorEventKind] | null,
    signal: AbortSignal,
  ): Promise<void> {
    let after: RowSortKey = { endpointId: 0, position: 0, place: 0 }
    while (!signal.aborted) {
      const rows = await this.#listOfKinds(appId, kinds, after)
      const last = rows.at(-1)
      if (!last) return
      after = last
      const changes = rows.flatMap(({ kind, payload, ...place }) => {
        const changed = change({ appId, kind, payload: JSON.parse(payload) } as Event)
        return changed === null ? [] : [{ place, payload: stringifyJson(changed) }]
      })
      await this.database.transaction(async (tx) => {
        for (const { place, payload } of changes)
          await tx
            .updateTable('webhook_events')
            .set({ payload })
            .where('app_id', '=', appId)
            .where('endpoint_id', '=', place.endpointId)
            .where('position', '=', place.position)
            .where('place', '=', place.place)
            .execute()
      })
    }
  }

  #listOfKinds(appId: string, kinds: readonly EventKind[], after: RowSortKey) {
    const { endpointId, position, place } = after
    return this.database.read((db) =>
      db
        .selectFrom('webhook_events')
        .select(camelCase(['endpoint_id', 'position', 'place', 'kind', 'payload']))
        .where('app_id', '=', appId)
        .where('kind', 'in', kinds)
        .where(
          sql<boolean>`(endpoint_id, position, place) > (${endpointId}, ${position}, ${place})`,
        )
        .orderBy('endpoint_id')
        .orderBy('position')
        .orderBy('place')
        .limit(rowsPerRewrite)
        .execute(),
    )
  }

  async deleteAll(tx: Tx, { appId, endpointId }: EndpointKey): Promise<void> {
    await tx
      .deleteFrom('webhook_events')
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .execute()
  }
}

function waitingRow(event: StoredEvent, attempt: FailedAttempt) {
  const values = { ...event, isLast: event.isLast ? 1 : 0, eventKey: event.key }
  return { ...snakeCase(webhookEventsTable, values), ...attemptColumns(attempt) }
}

function attemptColumns({ attempts, nextAt, isDead, status, error }: FailedAttempt) {
  return {
    state: isDead ? 'dead' : 'waiting',
    attempts,
    next_at: nextAt,
    last_status: status,
    last_error: error,
  }
}

function toEvent(row: EventRow): StoredEvent {
  return convert(row, {
    kind: row.kind as StoredEvent['kind'],
    isLast: row.isLast === 1,
    key: row.eventKey,
  })
}
