import type { Queryable } from '../../db/database.js'
import { sql } from '../../db/kysely.js'
import { chunksOf } from '../../lib/chunks.js'
import { decodeRanges, type MessageRange } from '../messaging/model/message-ranges.js'
import type { FaultRow, IntegrityCheck } from './integrity-check.js'

const rowsPerPage = 200
const conversationsPerStatement = 200

/**
 * Positions of an app are dense from the first kept row up to its head; no consumer is beyond the
 * head.
 */
export const outboxChecks: readonly IntegrityCheck[] = [
  {
    name: 'outbox_positions',
    count: sql`select count(*) as count from outbox`,
    faults: sql`select o.app_id, 'outbox' as subject,
        o.rows_kept || ' rows from ' || o.first_position || ' to ' || o.last_position || ', and the head is at ' || coalesce(h.position, 0) as detail
      from (select app_id, min(position) as first_position, max(position) as last_position, count(*) as rows_kept from outbox group by app_id) o
      left join outbox_heads h on h.app_id = o.app_id
      where h.position is null or h.position <> o.last_position or o.last_position - o.first_position + 1 <> o.rows_kept`,
  },
  {
    name: 'outbox_last_message',
    count: sql`select count(*) as count from outbox_heads`,
    faults: sql`select h.app_id, 'outbox' as subject,
        'knows messages up to ' || h.last_msg_id || ', where ' || c.last_msg_id || ' is the last one' as detail
      from outbox_heads h
      join (select app_id, max(last_msg_id) as last_msg_id from conversations where low_id >= 0 group by app_id) c on c.app_id = h.app_id
      where h.last_msg_id < c.last_msg_id`,
  },
  {
    name: 'outbox_consumer',
    count: sql`select count(*) as count from outbox_positions`,
    faults: sql`select p.app_id, p.consumer as subject, 'is at ' || p.position || ' of an outbox that ends at ' || coalesce(h.position, 0) as detail
      from outbox_positions p left join outbox_heads h on h.app_id = p.app_id
      where h.position is null or p.position > h.position`,
  },
  {
    name: 'outbox_messages',
    count: sql`select count(*) as count from outbox where kind = 'message.stored'`,
    faults: listLostRanges,
  },
]

interface OutboxPlace {
  readonly app_id: string
  readonly position: number
}

/** Ranges of messages in the outbox without their conversations, by app and position. */
async function listLostRanges(db: Queryable, limit: number): Promise<FaultRow[]> {
  const faults: FaultRow[] = []
  for (let after: OutboxPlace | null = null; faults.length < limit; ) {
    const page = await listMessageRows(db, after)
    const last = page.at(-1)
    if (!last) break
    for (const row of page) faults.push(...(await lostRanges(db, row)))
    after = last
  }
  return faults.slice(0, limit)
}

function listMessageRows(db: Queryable, after: OutboxPlace | null) {
  return db
    .selectFrom('outbox')
    .select(['app_id', 'position', 'payload'])
    .where('kind', '=', 'message.stored')
    .$if(after !== null, (query) =>
      query.where(
        sql<boolean>`(app_id, position) > (${after?.app_id ?? ''}, ${after?.position ?? 0})`,
      ),
    )
    .orderBy('app_id')
    .orderBy('position')
    .limit(rowsPerPage)
    .execute()
}

async function lostRanges(
  db: Queryable,
  { app_id, position, payload }: OutboxPlace & { readonly payload: string },
): Promise<FaultRow[]> {
  const ranges = decodeRanges(app_id, payload)
  const known = new Set<string>()
  for (const chunk of chunksOf(ranges, conversationsPerStatement)) {
    const found = await db
      .selectFrom('conversations')
      .select(['low_id', 'high_id'])
      .where('app_id', '=', app_id)
      .where(({ or, and }) =>
        or(chunk.map(({ conversation: c }) => and({ low_id: c.lowId, high_id: c.highId }))),
      )
      .execute()
    for (const { low_id, high_id } of found) known.add(`${low_id}/${high_id}`)
  }
  return ranges
    .map(({ conversation }) => nameOf(conversation))
    .filter((subject) => !known.has(subject))
    .map((subject) => ({
      app_id,
      subject,
      detail: `position ${position} of the outbox names messages of a conversation that is not there`,
    }))
}

function nameOf({ lowId, highId }: MessageRange['conversation']): string {
  return `${lowId}/${highId}`
}
