/** Appending from a procedure. Loaded by the writer's thread too. */
import type { EventKind } from '@hermod/protocol/events'
import type { BulkAppend, BulkInsert } from '../db/dialect/dialect.js'
import type { ProcedureContext } from '../db/procedure.js'
import { rowOf } from '../db/rows.js'
import { compare } from '../lib/compare.js'
import { groupBy } from '../lib/group-by.js'

const headColumns = {
  app_id: 'text',
  position: 'bigint',
  first_msg_id: 'bigint',
  last_msg_id: 'bigint',
} as const

const advanceHeads: BulkInsert = {
  module: import.meta.url,
  table: 'outbox_heads',
  columns: headColumns,
  conflict: `on conflict (app_id) do update set position = t.position + excluded.position, first_msg_id = excluded.first_msg_id,
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

/** The head of an app once rows were appended. */
export interface OutboxHead {
  readonly app_id: string
  readonly position: number
  /** 0 = there was no broadcast. */
  readonly last_broadcast_id: number
}

/** A row of the outbox that has no position yet. */
export interface NewRow {
  readonly appId: string
  readonly kind: EventKind
  readonly payload: string
  /** The IDs of the messages that it is about when they were stored. */
  readonly messageIds?: { readonly first: number; readonly last: number }
}

/** How far the head of an app moves; 0 = the rows are about no messages. */
const headRow = rowOf(headColumns, (appId: string, rows: readonly NewRow[]) => {
  const ids = rows.flatMap(({ messageIds }) => messageIds ?? [])
  const isAboutNone = ids.length === 0
  return {
    app_id: appId,
    position: rows.length,
    first_msg_id: isAboutNone ? 0 : Math.min(...ids.map(({ first }) => first)),
    last_msg_id: isAboutNone ? 0 : Math.max(...ids.map(({ last }) => last)),
  }
})

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

/**
 * Appends rows as the last statements of a transaction: the heads stay locked until its commit, so it must lock nothing afterwards.
 * Messages that are not all above the last broadcast of their app are refused by its head (rule E9).
 * @param createdAt milliseconds since 1970
 * @returns the heads of the apps, in no particular order
 */
export async function appendToOutbox(
  context: ProcedureContext,
  rows: readonly NewRow[],
  createdAt: number,
): Promise<readonly OutboxHead[]> {
  const byApp = [...groupBy(rows, ({ appId }) => appId)].sort(([a], [b]) => compare(a, b))
  const heads = byApp.map(([appId, ofApp]) => headRow(appId, ofApp))
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
  const moved = await context.run<OutboxHead>(advanceHeads, heads)
  const lastOf = new Map(moved.map(({ app_id, position }) => [app_id, position]))
  await context.run(
    insertRows,
    rowsFrom((appId, after) => (lastOf.get(appId) ?? 0) - after),
  )
  return moved
}
