import type { Int64 } from '@hermod/protocol'
import { camelCase, convert, snakeCase, type TableRow } from '../../../db/columns.js'
import type { Database, Queryable, Tx } from '../../../db/database.js'
import { webhookAttemptsTable } from '../../../db/schema.js'
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
      const rows = (await ofExistingEndpoints(tx, attempts)).map(attemptRow)
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
      .select(camelCase(webhookAttemptsTable))
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

  /** Empties the kept answers of an app, which may quote any event. */
  async eraseAnswers(tx: Tx, appId: string): Promise<void> {
    await tx
      .updateTable('webhook_attempts')
      .set({ answer: '' })
      .where('app_id', '=', appId)
      .where('answer', '<>', '')
      .execute()
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

function attemptRow({ first, ...attempt }: Attempt) {
  const { id: eventId, kind, key: eventKey } = first
  return snakeCase(webhookAttemptsTable, { ...attempt, eventId, kind, eventKey })
}

function toAttempt(row: TableRow<typeof webhookAttemptsTable>): Attempt {
  const kind = row.kind as Attempt['first']['kind']
  return convert(row, {
    first: { id: row.eventId, kind, key: row.eventKey },
    outcome: row.outcome as Attempt['outcome'],
    retryAfterMs: null,
  })
}
