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

const outboxColumns = {
  app_id: 'text',
  position: 'bigint',
  kind: 'text',
  payload: 'text',
  created_at: 'bigint',
} as const

const insertRows: BulkInsert = { module: import.meta.url, table: 'outbox', columns: outboxColumns }

const appendRows: BulkAppend = { heads: advanceHeads, rows: insertRows }

/** A row of the outbox that has no position yet. */
export interface NewRow {
  readonly appId: string
  readonly kind: EventKind
  readonly payload: string
  /** Of the messages that it is about when they were stored. */
  readonly lastMessageId?: number
}

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
  const byApp = [...groupBy(rows, ({ appId }) => appId)].sort(([a], [b]) => compare(a, b))
  const heads = byApp.map(([appId, ofApp]) => [appId, ofApp.length, greatestId(ofApp)])
  const rowsFrom = (positionOf: (appId: string, after: number) => number) =>
    byApp.flatMap(([appId, ofApp]) =>
      ofApp.map((row, index) =>
        outboxRow(row, positionOf(appId, ofApp.length - 1 - index), createdAt),
      ),
    )
  if (context.append)
    return context.append<OutboxHead>(
      appendRows,
      heads,
      rowsFrom((_, after) => after),
    )
  const moved = await context.run<OutboxHead & { readonly position: number }>(advanceHeads, heads)
  const lastOf = new Map(moved.map(({ app_id, position }) => [app_id, position]))
  await context.run(
    insertRows,
    rowsFrom((appId, after) => (lastOf.get(appId) ?? 0) - after),
  )
  return moved
}

function greatestId(rows: readonly NewRow[]): number {
  return rows.reduce((greatest, { lastMessageId = 0 }) => Math.max(greatest, lastMessageId), 0)
}
