/** Appending from a procedure. Loaded by the writer's thread too. */
import type { EventKind } from '@hermod/protocol/events'
import type { BulkAppend, BulkInsert } from '../db/dialect/dialect.js'
import type { ProcedureContext } from '../db/procedure.js'
import { rowOf } from '../db/rows.js'
import { compare } from '../lib/compare.js'
import { groupBy } from '../lib/group-by.js'

const advanceHeads: BulkInsert = {
  module: import.meta.url,
  table: 'outbox_heads',
  columns: { app_id: 'text', position: 'bigint', last_msg_id: 'bigint' },
  conflict: `on conflict (app_id) do update set position = t.position + excluded.position,
    last_msg_id = case when t.last_msg_id > excluded.last_msg_id then t.last_msg_id else excluded.last_msg_id end`,
  returning: 'app_id, position, last_broadcast_id',
}

const rowColumns = { kind: 'text', payload: 'text', created_at: 'bigint' } as const
const outboxColumns = { app_id: 'text', position: 'bigint', ...rowColumns } as const
const appendedColumns = { app_id: 'text', ...rowColumns, last_msg_id: 'bigint' } as const

const insertRows: BulkInsert = { module: import.meta.url, table: 'outbox', columns: outboxColumns }

const appendRows: BulkAppend = {
  module: import.meta.url,
  appendTo: 'outbox',
  heads: 'outbox_heads',
  columns: rowColumns,
  greatest: 'last_msg_id',
  returning: 'last_broadcast_id',
}

/** A row of the outbox that has no position yet. */
export interface NewRow {
  readonly appId: string
  readonly kind: EventKind
  readonly payload: string
  /** Of the messages that it is about when they were stored. */
  readonly lastMessageId?: number
}

const appendedRow = rowOf(
  appendedColumns,
  ({ appId, kind, payload, lastMessageId = 0 }: NewRow, createdAt: number) => ({
    app_id: appId,
    kind,
    payload,
    created_at: createdAt,
    last_msg_id: lastMessageId,
  }),
)
const outboxRow = rowOf(
  outboxColumns,
  ({ appId, kind, payload }: NewRow, position: number, createdAt: number) => ({
    app_id: appId,
    position,
    kind,
    payload,
    created_at: createdAt,
  }),
)

/** The end of an application's outbox; messages that are appended have IDs above the last broadcast (rule E9). */
export interface OutboxHead {
  readonly app_id: string
  readonly last_broadcast_id: number
}

/**
 * Appends rows as the last statements of a procedure: the heads stay locked until its commit, so it must lock nothing afterwards.
 * @param createdAt milliseconds since 1970
 * @returns the head of each application that the rows are of
 */
export async function appendInProcedure(
  context: ProcedureContext,
  rows: readonly NewRow[],
  createdAt: number,
): Promise<readonly OutboxHead[]> {
  if (context.append)
    return context.append<OutboxHead>(
      appendRows,
      rows.map((row) => appendedRow(row, createdAt)),
    )
  const byApp = [...groupBy(rows, ({ appId }) => appId)].sort(([a], [b]) => compare(a, b))
  const heads = await context.run<OutboxHead & { readonly position: number }>(
    advanceHeads,
    byApp.map(([appId, ofApp]) => [appId, ofApp.length, greatestId(ofApp)]),
  )
  const lastOf = new Map(heads.map(({ app_id, position }) => [app_id, position]))
  await context.run(
    insertRows,
    byApp.flatMap(([appId, ofApp]) => {
      const before = (lastOf.get(appId) ?? 0) - ofApp.length
      return ofApp.map((row, index) => outboxRow(row, before + index + 1, createdAt))
    }),
  )
  return heads
}

function greatestId(rows: readonly NewRow[]): number {
  return rows.reduce((greatest, { lastMessageId = 0 }) => Math.max(greatest, lastMessageId), 0)
}
