/** The bulk statements that append events. The writer's thread loads it too. */
import type { EventKind } from '@hermod/protocol/events'
import type { BulkAppend, BulkInsert } from '../db/dialect/dialect.js'
import type { LastStatement } from '../db/procedure.js'
import { rowOf } from '../db/rows.js'
import { compare } from '../lib/compare.js'
import { groupBy } from '../lib/group-by.js'
import type { UserChange } from './user-changes.js'

const headColumns = {
  app_id: 'text',
  position: 'bigint',
  first_msg_id: 'bigint',
  last_msg_id: 'bigint',
} as const

const advanceHeads: BulkInsert = {
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

const insertRows: BulkInsert = { table: 'outbox', columns: outboxColumns }

const changeColumns = {
  app_id: 'text',
  user_id: 'bigint',
  kind: 'smallint',
  ref: 'bigint',
  position: 'bigint',
} as const

const moveChanges: BulkInsert = {
  table: 'user_changes',
  columns: changeColumns,
  conflict: ' on conflict (app_id, user_id, kind, ref) do update set position = excluded.position',
}

const appendRows: BulkAppend = { heads: advanceHeads, rows: insertRows }
const appendWithChanges: BulkAppend = { ...appendRows, more: moveChanges }

/** The head of an app after an append. */
export interface OutboxHead {
  readonly app_id: string
  readonly position: number
  /** 0 = none */
  readonly last_broadcast_id: number
}

/** A row of the outbox that has no position yet. */
export interface NewRow {
  readonly appId: string
  readonly kind: EventKind
  readonly payload: string
  /** The range of IDs of the stored messages of the row. */
  readonly messageIds?: { readonly first: number; readonly last: number }
  /** The changes of users that the event makes. */
  readonly userChanges?: readonly UserChange[]
}

/**
 * The positions of appended rows, in their order.
 * @param heads the result of {@link appendToOutbox} for these rows
 */
export function positionsOfRows(
  rows: readonly Pick<NewRow, 'appId'>[],
  heads: readonly OutboxHead[],
): number[] {
  const next = new Map(heads.map(({ app_id, position }) => [app_id, position + 1]))
  for (const { appId } of rows) next.set(appId, (next.get(appId) ?? 0) - 1)
  return rows.map(({ appId }) => {
    const position = next.get(appId) ?? 0
    next.set(appId, position + 1)
    return position
  })
}

/** The move of an app's head; IDs are 0 for rows without messages. */
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
  ({ appId, kind, payload }: NewRow, rowsAfter: number, createdAt: number) => ({
    app_id: appId,
    position: rowsAfter,
    kind,
    payload,
    created_at: createdAt,
  }),
)

const changeRow = rowOf(
  changeColumns,
  (appId: string, { userId, kind, ref }: UserChange, rowsAfter: number) => ({
    app_id: appId,
    user_id: userId,
    kind,
    ref,
    position: rowsAfter,
  }),
)

/** The rows that the changes of an app move: each once, to its last position, in the order of their keys. */
function changeRows(appId: string, rows: readonly NewRow[]): readonly unknown[][] {
  const last = new Map<string, readonly [change: UserChange, rowsAfter: number]>()
  for (const [index, { userChanges = [] }] of rows.entries())
    for (const change of userChanges)
      last.set(`${change.userId}.${change.kind}.${change.ref}`, [change, rows.length - 1 - index])
  return [...last.values()]
    .sort(
      ([a], [b]) => compare(a.userId, b.userId) || compare(a.kind, b.kind) || compare(a.ref, b.ref),
    )
    .map(([change, rowsAfter]) => changeRow(appId, change, rowsAfter))
}

/**
 * The statement that appends rows. It returns an {@link OutboxHead} for each app, in no particular
 * order. It is the last one of its transaction, since it locks the heads until the commit. A head
 * refuses messages that are not all above the last broadcast of their app (rule E9).
 * @param createdAt milliseconds since 1970
 */
export function appendToOutbox(rows: readonly NewRow[], createdAt: number): LastStatement {
  const byApp = [...groupBy(rows, ({ appId }) => appId)].sort(([a], [b]) => compare(a, b))
  const changes = byApp.flatMap(([appId, ofApp]) => changeRows(appId, ofApp))
  return {
    append: changes.length > 0 ? appendWithChanges : appendRows,
    ...(changes.length > 0 && { more: changes }),
    heads: byApp.map(([appId, ofApp]) => headRow(appId, ofApp)),
    rows: byApp.flatMap(([, ofApp]) =>
      ofApp.map((row, index) => outboxRow(row, ofApp.length - 1 - index, createdAt)),
    ),
  }
}
