import type { Int64 } from '@hermod/protocol'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import type { Selectable } from '../../../db/kysely.js'
import type { WebhookAttemptsTable } from '../../../db/schema.js'
import { chunksOf } from '../../../lib/chunks.js'
import type { EndpointKey } from '../endpoints/endpoint-model.js'
import { ofExistingEndpoints } from '../endpoints/existing-endpoints.js'
import { type Attempt, keptAttempts } from './attempt.js'

/** Choice of attempts. */
export interface AttemptFilter {
  /** Only attempts before this one. */
  readonly before: Int64 | null
  readonly isFailed: boolean
  /** "" = any. */
  readonly eventId: string
  readonly limit: number
}

/** Rows of one statement. */
const rowsPerInsert = 100

/** Requests to endpoints with their answers. */
export class AttemptStore {
  constructor(private readonly database: Database) {}

  /** Stores attempts; those of deleted endpoints are left out. */
  async insert(attempts: readonly Attempt[]): Promise<void> {
    await this.database.transaction(async (tx) => {
      const rows = (await ofExistingEndpoints(tx, attempts)).map(toRow)
      for (const part of chunksOf(rows, rowsPerInsert))
        await tx.insertInto('webhook_attempts').values(part).execute()
    })
  }

  /** Lists newest first. */
  async list(
    db: Queryable,
    { appId, endpointId }: EndpointKey,
    { before, isFailed, eventId, limit }: AttemptFilter,
  ): Promise<Attempt[]> {
    const rows = await db
      .selectFrom('webhook_attempts')
      .selectAll()
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .$if(before !== null, (query) => query.where('attempt_id', '<', before as Int64))
      .$if(isFailed, (query) => query.where('outcome', '<>', 'delivered'))
      .$if(eventId !== '', (query) => query.where('event_id', '=', eventId))
      .orderBy('attempt_id', 'desc')
      .limit(limit)
      .execute()
    return rows.map(toAttempt)
  }

  /** Deletes all but the newest attempts of an endpoint. */
  async prune(tx: Tx, { appId, endpointId }: EndpointKey): Promise<void> {
    const oldest = await tx
      .selectFrom('webhook_attempts')
      .select('attempt_id')
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .orderBy('attempt_id', 'desc')
      .offset(keptAttempts)
      .limit(1)
      .executeTakeFirst()
    if (!oldest) return
    await tx
      .deleteFrom('webhook_attempts')
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .where('attempt_id', '<=', oldest.attempt_id)
      .execute()
  }

  async deleteAll(tx: Tx, { appId, endpointId }: EndpointKey): Promise<void> {
    await tx
      .deleteFrom('webhook_attempts')
      .where('app_id', '=', appId)
      .where('endpoint_id', '=', endpointId)
      .execute()
  }
}

function toRow(attempt: Attempt): Selectable<WebhookAttemptsTable> {
  return {
    app_id: attempt.appId,
    endpoint_id: attempt.endpointId,
    attempt_id: attempt.attemptId,
    at: attempt.at,
    event_id: attempt.first.id,
    kind: attempt.first.kind,
    event_key: attempt.first.key,
    events: attempt.events,
    attempt: attempt.attempt,
    outcome: attempt.outcome,
    status: attempt.status,
    duration_ms: attempt.durationMs,
    error: attempt.error,
    answer: attempt.answer,
    next_at: attempt.nextAt,
  }
}

function toAttempt(row: Selectable<WebhookAttemptsTable>): Attempt {
  return {
    appId: row.app_id,
    endpointId: row.endpoint_id,
    attemptId: row.attempt_id,
    at: row.at,
    first: { id: row.event_id, kind: row.kind as Attempt['first']['kind'], key: row.event_key },
    events: row.events,
    attempt: row.attempt,
    outcome: row.outcome as Attempt['outcome'],
    status: row.status,
    durationMs: row.duration_ms,
    error: row.error,
    answer: row.answer,
    retryAfterMs: null,
    nextAt: row.next_at,
  }
}
