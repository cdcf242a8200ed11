import { appStatus } from '@hermod/protocol'
import { camelCase, snakeCase, type TableRow } from '../../../db/columns.js'
import type { Queryable, StatementTx, Tx } from '../../../db/database.js'
import { type Selectable, sql } from '../../../db/kysely.js'
import { type Schema, webhookEndpointsTable } from '../../../db/schema.js'
import { definedOnly } from '../../../lib/defined-only.js'
import type { Endpoint, EndpointHealth, EndpointKey, Replay } from './endpoint-model.js'

/** The place and health of an endpoint, as its queue stores them. */
export interface EndpointProgress {
  readonly position: number
  readonly health: EndpointHealth
}

const columns = camelCase(webhookEndpointsTable)

/** Endpoints of webhooks. */
export class EndpointStore {
  /** Lists by ID, the order of creation. */
  async list(db: Queryable, appId: string): Promise<Endpoint[]> {
    const rows = await db
      .selectFrom('webhook_endpoints')
      .select(columns)
      .where('app_id', '=', appId)
      .orderBy('endpoint_id')
      .execute()
    return rows.map(toEndpoint)
  }

  /** Lists the endpoints of all applications. */
  async listAll(db: Queryable): Promise<Endpoint[]> {
    const rows = await db
      .selectFrom('webhook_endpoints')
      .select(columns)
      .orderBy('app_id')
      .orderBy('endpoint_id')
      .execute()
    return rows.map(toEndpoint)
  }

  /** Lists the endpoints that the service has disabled after failures. */
  listFailed(db: Queryable): Promise<EndpointKey[]> {
    return db
      .selectFrom('webhook_endpoints')
      .select(camelCase(['app_id', 'endpoint_id']))
      .where('state', '=', 'disabled')
      .where('state_reason', 'in', ['gone', 'failing'])
      .orderBy('app_id')
      .orderBy('endpoint_id')
      .execute()
  }

  async find(db: Queryable, { appId, endpointId }: EndpointKey): Promise<Endpoint | null> {
    const row = await db
      .selectFrom('webhook_endpoints')
      .select(columns)
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .executeTakeFirst()
    return row ? toEndpoint(row) : null
  }

  /** The lowest position of the enabled endpoints of an app; null: it has none. */
  async lowestPosition(db: Queryable, appId: string): Promise<number | null> {
    const row = await db
      .selectFrom('webhook_endpoints')
      .select((eb) => eb.fn.min('position').as('position'))
      .where('app_id', '=', appId)
      .where('state', '=', 'enabled')
      .executeTakeFirst()
    return row?.position ?? null
  }

  /**
   * Lists the enabled endpoints of applications that are not disabled.
   * @param appId only those of this application
   */
  async listServed(db: Queryable, appId?: string): Promise<Endpoint[]> {
    const rows = await db
      .selectFrom('webhook_endpoints as e')
      .innerJoin('apps as a', 'a.app_id', 'e.app_id')
      .select(camelCase(webhookEndpointsTable, 'e'))
      .where('a.status', '=', appStatus.normal)
      .where('e.state', '=', 'enabled')
      .$if(appId !== undefined, (query) => query.where('e.app_id', '=', appId as string))
      .orderBy('e.app_id')
      .orderBy('e.endpoint_id')
      .execute()
    return rows.map(toEndpoint)
  }

  /**
   * The newest change of any endpoint and the number of endpoints, without disabled applications,
   * by which changes are noticed.
   */
  async version(db: Queryable): Promise<string> {
    const { count, updated, sum } = await db
      .selectFrom('webhook_endpoints as e')
      .innerJoin('apps as a', 'a.app_id', 'e.app_id')
      .select((eb) => [
        eb.fn.countAll().as('count'),
        eb.fn.max('e.updated_at').as('updated'),
        // The clock of a node may be behind the newest change of another one.
        sql<number>`sum(e.updated_at % 1000003)`.as('sum'),
      ])
      .where('a.status', '=', appStatus.normal)
      .executeTakeFirstOrThrow()
    return `${count}/${updated}/${sum}`
  }

  /** The caller has locked the application. */
  async insert(tx: Tx, endpoint: Endpoint): Promise<void> {
    await tx.insertInto('webhook_endpoints').values(toRow(endpoint)).execute()
  }

  /** Replaces all of an endpoint but its progress, unless the change names it. */
  async update(
    tx: Tx,
    { appId, endpointId }: EndpointKey,
    changes: Partial<Endpoint>,
  ): Promise<void> {
    await tx
      .updateTable('webhook_endpoints')
      .set(toRow(changes))
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .execute()
  }

  /**
   * Stores progress of enabled endpoints. Positions never move back; health that was observed before
   * the last update of its endpoint is dropped.
   */
  async saveProgress(
    tx: Tx,
    progress: readonly (EndpointProgress & {
      readonly key: EndpointKey & Pick<Endpoint, 'version'>
    })[],
  ): Promise<void> {
    for (const { key, position, health } of progress) {
      const unlessUpdated = (column: string, value: number) =>
        sql<number>`case when version = ${key.version} then ${value} else ${sql.ref(column)} end`
      await tx
        .updateTable('webhook_endpoints')
        .set({
          position: sql<number>`case when position < ${position} then ${position} else position end`,
          failing_since: unlessUpdated('failing_since', health.failingSince),
          last_failure_at: unlessUpdated('last_failure_at', health.lastFailureAt),
          failures: unlessUpdated('failures', health.failures),
          retry_at: unlessUpdated('retry_at', health.retryAt),
          last_success_at: unlessUpdated('last_success_at', health.lastSuccessAt),
        })
        .where('app_id', '=', key.appId)
        .where('endpoint_id', '=', key.endpointId)
        .where('state', '=', 'enabled')
        .executeTakeFirst()
    }
  }

  /** Moves a replay on. @returns false when another one has replaced it */
  async moveReplay(
    tx: StatementTx,
    { appId, endpointId }: EndpointKey,
    from: Replay,
    to: Replay | null,
  ): Promise<boolean> {
    const { numUpdatedRows } = await tx
      .updateTable('webhook_endpoints')
      .set({ replay: replayText(to) })
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .where('replay', '=', replayText(from))
      .executeTakeFirst()
    return numUpdatedRows > 0n
  }

  /** Replaces the encrypted secrets if they are still `before`. */
  async reseal(tx: Tx, appId: string, before: string, sealed: string): Promise<void> {
    await tx
      .updateTable('webhook_endpoints')
      .set({ sealed })
      .where('app_id', '=', appId)
      .where('sealed', '=', before)
      .execute()
  }

  async delete(tx: Tx, { appId, endpointId }: EndpointKey): Promise<void> {
    await tx
      .deleteFrom('webhook_endpoints')
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .execute()
  }
}

function toEndpoint(row: TableRow<typeof webhookEndpointsTable>): Endpoint {
  return {
    appId: row.appId,
    endpointId: row.endpointId,
    url: row.url,
    description: row.description,
    kinds: JSON.parse(row.kinds),
    receivers: JSON.parse(row.receivers),
    format: row.format as Endpoint['format'],
    sealed: row.sealed,
    concurrency: row.concurrency,
    batchSize: row.batchSize,
    timeoutMs: row.timeoutMs,
    isEnabled: row.state === 'enabled',
    stateReason: row.stateReason as Endpoint['stateReason'],
    position: row.position,
    health: {
      failingSince: row.failingSince,
      lastFailureAt: row.lastFailureAt,
      failures: row.failures,
      retryAt: row.retryAt,
      lastSuccessAt: row.lastSuccessAt,
    },
    replay: row.replay === '' ? null : JSON.parse(row.replay),
    version: row.version,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  }
}

function toRow<E extends Partial<Endpoint>>(endpoint: E): RowOf<E> {
  const { kinds, receivers, isEnabled, health, replay } = endpoint
  const values = {
    ...endpoint,
    ...health,
    kinds: kinds && JSON.stringify(kinds),
    receivers: receivers && JSON.stringify(receivers),
    state: isEnabled === undefined ? undefined : isEnabled ? 'enabled' : 'disabled',
    replay: replay === undefined ? undefined : replayText(replay),
  }
  return definedOnly(snakeCase(webhookEndpointsTable, values)) as RowOf<E>
}

function replayText(replay: Replay | null): string {
  return replay === null ? '' : JSON.stringify(replay)
}

/** A whole endpoint has a whole row. */
type RowOf<E> = E extends Endpoint ? EndpointRow : Partial<EndpointRow>
type EndpointRow = Selectable<Schema['webhook_endpoints']>
