/** Rows in every table that an export has, with the values that engines treat differently. */
import type { Table } from '../../../dist/db/columns.js'
import type { Database } from '../../../dist/db/database.js'
import type { ColumnType } from '../../../dist/db/dialect/dialect.js'
import { sql } from '../../../dist/db/kysely.js'
import { tables } from '../../../dist/db/schema.js'
import { lineTypes } from '../../../dist/transfer/lines.js'

/** By the number of a row, so that no two rows of a table are equal. */
const values: Readonly<Record<ColumnType, readonly (string | number | bigint)[]>> = {
  // Decomposed and composed letters, an emoji of two code units, quotes, controls, a byte order mark.
  text: ['e\u0301 😀 "\\\' \u0001\n\t', 'é \u2028 \ufeff {"a":1}', ''],
  bigint: [2n ** 63n - 1n, -(2n ** 63n), 2n ** 53n + 1n],
  integer: [2 ** 31 - 1, -(2 ** 31) + 1, 0],
  smallint: [2 ** 15 - 1, -(2 ** 15) + 1, 0],
}
/** Of numbers that servers do not choose a portable export has no others. */
const exact = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, 7]
const isExact = /^(?!.*_(?:id|by)$|capacity$)/
const isMessageId = /^(?:(?:\w+_)?msg_id|reply_to_id|last_broadcast_id|broadcasts_after)$/
const rows = [0, 1, 2]

/** Values that rules of a table or sums demand. */
const own: Readonly<Record<string, (row: number) => string | number>> = {
  app_id: (row) => `app${row}`,
  'apps.name': (row) => `app ${row}`,
  'apps.status': () => 0,
  'apps.open_registration': (row) => row % 2,
  'apps.registration_secret': () => '',
  'apps.settings': () => '{"recall_seconds":7}',
  'apps.created_at': (row) => row,
  'files.file_id': (row) => `7d0c5tzmv4fhq2n8r1xk3apw${row}0`,
  'files.upload_id': (row) => `ab0cd0${row}0`,
  'files.size': (row) => row,
  'files.crc32': (row) => row,
  'files.created_at': (row) => row,
  'files.content_type': () => 'image/png',
  'outbox_heads.position': (row) => row + 5,
  'outbox_heads.first_msg_id': () => 0,
  'outbox_positions.position': (row) => row + 5,
}

/** Inserts three rows into every table with lines; the third has null where a column allows it. */
export async function fillTables(database: Database): Promise<void> {
  for (const { name, remade } of lineTypes.move) {
    if (name === 'database_identity') continue
    const { columns } = (tables as Readonly<Record<string, Table>>)[name] as Table
    const nullable = await nullableColumns(database, name)
    const kinds = columns as Readonly<Record<string, ColumnType>>
    const inserted = rows.map((row) =>
      Object.entries(kinds).map(([column, kind]) => {
        if (column in remade) return kind === 'text' ? '' : 0
        if (row === 2 && nullable.has(column)) return null
        const given = kind === 'bigint' && isExact.test(column) ? exact : values[kind]
        const demanded = (own[`${name}.${column}`] ?? own[column])?.(row)
        return demanded ?? (isMessageId.test(column) ? row : given[row])
      }),
    )
    await database.transaction((tx) => database.bulk(tx, { table: name, columns: kinds }, inserted))
  }
}

async function nullableColumns(database: Database, table: string): Promise<ReadonlySet<string>> {
  const found = await database.read((db) =>
    sql<{ name: string }>`select name from pragma_table_info(${table}) where "notnull" = 0`.execute(
      db,
    ),
  )
  return new Set(found.rows.map(({ name }) => name))
}

const rowsPerStatement = 1_000

/** Inserts an application with messages of one conversation. */
export async function fillMessages(database: Database, count: number): Promise<void> {
  const insert = (
    name: keyof typeof tables,
    given: readonly Readonly<Record<string, unknown>>[],
  ) => {
    const kinds = tables[name].columns as Readonly<Record<string, ColumnType>>
    const empty = (kind: ColumnType) => (kind === 'text' ? '' : 0)
    const all = given.map((row) =>
      Object.entries(kinds).map(([column, kind]) => (column in row ? row[column] : empty(kind))),
    )
    return database.transaction((tx) => database.bulk(tx, { table: name, columns: kinds }, all))
  }
  const app = { app_id: 'app' }
  await insert('apps', [{ ...app, name: 'App', settings: '{}' }])
  await insert('conversations', [{ ...app, low_id: 1, high_id: 2, seq: count, last_msg_id: count }])
  for (let from = 1; from <= count; from += rowsPerStatement)
    await insert(
      'messages',
      Array.from({ length: Math.min(rowsPerStatement, count - from + 1) }, (_, at) => ({
        ...{ ...app, low_id: 1, high_id: 2, msg_id: from + at, seq: from + at, sender_id: 1 },
        ...{ content: `message ${from + at} with a text of some length`, fields: null },
        ...{ transaction_id: null, reply_to_id: null, reply_to_seq: null },
      })),
    )
}
