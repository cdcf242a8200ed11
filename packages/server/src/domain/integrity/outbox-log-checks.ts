import type { Int64 } from '@hermod/protocol'
import { eventDefinition, eventKinds } from '@hermod/protocol/events'
import type { Queryable } from '../../db/database.js'
import { type RawBuilder, sql } from '../../db/kysely.js'
import { chunksOf } from '../../lib/chunks.js'
import type { ConversationKey } from '../messaging/model/conversation-model.js'
import { decodeRanges, type MessageRange } from '../messaging/model/message-ranges.js'
import type { FaultRow, IntegrityCheck } from './integrity-check.js'

const rowsPerPage = 200
/** Each of them is a part of one statement. */
const itemsPerStatement = 100

/** Kinds of events with a number of the log, other than ranges of new messages. */
const alterationKinds = eventKinds.filter(
  (kind) =>
    eventDefinition(kind).audience === 'log' &&
    kind !== 'message.stored' &&
    kind !== 'change.skipped',
)

/** The positions and change numbers of rows in the outbox are those of the logs (decision page 038). */
export const outboxLogChecks: readonly IntegrityCheck[] = [
  {
    name: 'outbox_messages',
    count: sql`select count(*) as count from outbox where kind = 'message.stored'`,
    faults: (db, limit) => listFaults(db, limit, ['message.stored'], rangeFaults),
  },
  {
    name: 'outbox_alterations',
    count: sql`select count(*) as count from outbox where kind in (${sql.join(alterationKinds.map((kind) => sql.lit(kind)))})`,
    faults: (db, limit) => listFaults(db, limit, alterationKinds, alterationFaults),
  },
]

interface OutboxPlace {
  readonly app_id: string
  readonly position: number
}

interface CheckedRow extends OutboxPlace {
  readonly payload: string
}

type FindFaults = (db: Queryable, rows: readonly CheckedRow[]) => Promise<FaultRow[]>

async function listFaults(
  db: Queryable,
  limit: number,
  kinds: readonly string[],
  find: FindFaults,
): Promise<FaultRow[]> {
  const faults: FaultRow[] = []
  for (let after: OutboxPlace | null = null; faults.length < limit; ) {
    const page = await listRows(db, kinds, after)
    const last = page.at(-1)
    if (!last) break
    faults.push(...(await find(db, page)))
    after = last
  }
  return faults.slice(0, limit)
}

function listRows(
  db: Queryable,
  kinds: readonly string[],
  after: OutboxPlace | null,
): Promise<CheckedRow[]> {
  return db
    .selectFrom('outbox')
    .select(['app_id', 'position', 'payload'])
    .where('kind', 'in', kinds)
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

/** The log of a range; no row when there is no such conversation. */
interface RangeLog {
  readonly item: number
  readonly seq: number
  readonly alterations: number
  readonly kept_from: number
  /** Position of the first message of the range; null when it is gone. */
  readonly first_seq: number | null
  /** The first alteration from the range on. */
  readonly next_change: number | null
  readonly next_alteration: number | null
}

async function rangeFaults(db: Queryable, rows: readonly CheckedRow[]): Promise<FaultRow[]> {
  const ranges = rows.flatMap(({ app_id, position, payload }) =>
    decodeRanges(app_id, payload).map((range) => ({ position, range })),
  )
  const faults: FaultRow[] = []
  for (const chunk of chunksOf(ranges, itemsPerStatement)) {
    const logs = await findEach<RangeLog, (typeof chunk)[number]>(db, chunk, ({ range }) =>
      rangeLog(range),
    )
    for (const [index, { position, range }] of chunk.entries()) {
      const detail = rangeFault(range, logs.get(index))
      if (detail !== null) faults.push(fault(range.conversation, position, detail))
    }
  }
  return faults
}

function rangeLog({ conversation, firstId, firstChange }: MessageRange): RawBuilder<unknown> {
  const next = (column: string) => sql`(select ${sql.ref(`x.${column}`)} from message_changes x
    where ${isOf('x', conversation)} and x.change >= ${firstChange} order by x.change limit 1)`
  return sql`c.seq, c.alterations, c.changes_kept_from as kept_from,
    (select m.seq from messages m where ${isOf('m', conversation)} and m.msg_id = ${firstId}) as first_seq,
    ${next('change')} as next_change, ${next('alteration')} as next_alteration
    from conversations c where ${isOf('c', conversation)}`
}

function rangeFault(range: MessageRange, log: RangeLog | undefined): string | null {
  if (!log) return 'names messages of a conversation that is not there'
  const { firstSeq, firstChange, count } = range
  const last = { seq: firstSeq + count - 1, change: firstChange + count - 1 }
  if (last.seq > log.seq) return `names position ${last.seq}, where the log ends at ${log.seq}`
  if (log.first_seq !== null && log.first_seq !== firstSeq)
    return `names position ${firstSeq} for a message at ${log.first_seq}`
  // Retention deletes alterations up to this number.
  if (firstChange <= log.kept_from) return null
  if (log.next_change !== null && log.next_change <= last.change)
    return `names change ${log.next_change} for a message, where the log has an alteration`
  const before = log.next_alteration === null ? log.alterations : log.next_alteration - 1
  return firstChange === firstSeq + before
    ? null
    : `names change ${firstChange}, where ${firstSeq + before} is due`
}

interface RecordedAlteration {
  readonly position: number
  readonly conversation: ConversationKey
  readonly messageId: Int64
  readonly change: number
}

interface AlterationLog {
  readonly item: number
  readonly kept_from: number
  readonly msg_id: number | null
}

async function alterationFaults(db: Queryable, rows: readonly CheckedRow[]): Promise<FaultRow[]> {
  const recorded = rows.map(recordedAlteration)
  const faults: FaultRow[] = []
  for (const chunk of chunksOf(recorded, itemsPerStatement)) {
    const logs = await findEach<AlterationLog, RecordedAlteration>(
      db,
      chunk,
      ({ conversation, change }) => sql`c.changes_kept_from as kept_from,
        (select x.msg_id from message_changes x where ${isOf('x', conversation)} and x.change = ${change}) as msg_id
        from conversations c where ${isOf('c', conversation)}`,
    )
    for (const [index, { position, conversation, messageId, change }] of chunk.entries()) {
      const log = logs.get(index)
      if (log && (log.msg_id === messageId || change <= log.kept_from)) continue
      const detail = `names change ${change} of message ${messageId}, which the log does not have`
      faults.push(fault(conversation, position, detail))
    }
  }
  return faults
}

function recordedAlteration({ app_id, position, payload }: CheckedRow): RecordedAlteration {
  const { conversation, msg_id, change } = JSON.parse(payload)
  const { low_id: lowId, high_id: highId } = conversation
  return { position, conversation: { appId: app_id, lowId, highId }, messageId: msg_id, change }
}

/** Looks up one row for each item in one statement. @returns the rows by the places of their items */
async function findEach<Row extends { readonly item: number }, Item = unknown>(
  db: Queryable,
  items: readonly Item[],
  columns: (item: Item) => RawBuilder<unknown>,
): Promise<ReadonlyMap<number, Row>> {
  if (items.length === 0) return new Map()
  const selects = items.map(
    (item, index) => sql`select ${sql.lit(index)} as item, ${columns(item)}`,
  )
  const { rows } = await sql<Row>`${sql.join(selects, sql` union all `)}`.execute(db)
  return new Map(rows.map((row) => [row.item, row]))
}

function isOf(alias: string, { appId, lowId, highId }: ConversationKey): RawBuilder<boolean> {
  return sql<boolean>`${sql.ref(`${alias}.app_id`)} = ${appId} and ${sql.ref(`${alias}.low_id`)} = ${lowId}
    and ${sql.ref(`${alias}.high_id`)} = ${highId}`
}

function fault({ appId, lowId, highId }: ConversationKey, position: number, detail: string) {
  return {
    app_id: appId,
    subject: `${lowId}/${highId}`,
    detail: `position ${position} of the outbox ${detail}`,
  }
}
