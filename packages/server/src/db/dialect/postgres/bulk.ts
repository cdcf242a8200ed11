/** Bulk statements of PostgreSQL: one statement over an array for each column. */
import {
  type AppendStatement,
  type Bulk,
  type BulkAppend,
  type BulkDelete,
  type BulkInsert,
  type BulkSelect,
  type BulkStatement,
  type BulkUpdate,
  type ColumnType,
  returningText,
} from '../dialect.js'
import { encodeArray, rowsOfArrays } from './arrays.js'

type Types = Readonly<Record<string, ColumnType>>

/** Rows to one array per column, for {@link rowsOfArrays}. */
function transpose(columns: Types): BulkStatement['parameters'] {
  const types = Object.values(columns)
  return (rows) => types.map((type, column) => encodeColumn(type, rows, column))
}

function encodeColumn(
  type: ColumnType,
  rows: readonly (readonly unknown[])[],
  column: number,
): string {
  return encodeArray(
    type,
    rows.map((row) => row[column]),
  )
}

/**
 * Returns the SQL of a bulk statement, whose rows are parameters.
 * @param now the time of the database, null where that of the process counts
 */
export function bulkStatement(statement: Bulk, now: string | null = null): BulkStatement {
  if ('deleteFrom' in statement) return bulkDelete(statement)
  if ('set' in statement) return bulkUpdate(statement)
  return 'keys' in statement ? bulkSelect(statement) : bulkInsert(statement, now)
}

function bulkInsert(
  { table, columns, where, instant, conflict = '', returning }: BulkInsert,
  now: string | null = null,
): BulkStatement {
  const names = Object.keys(columns).join(', ')
  const shifted = (column: string) => `v.${column} - v.${instant?.now} + ${now}`
  const values =
    now === null || !instant
      ? '*'
      : Object.keys(columns)
          .map((column) => (column === instant.column ? shifted(column) : `v.${column}`))
          .join(', ')
  const rows = `${rowsOfArrays(columns)} as v (${names}) ${where ? `where ${where((mode) => mode)} ` : ''}`
  return {
    sql: `insert into ${table} as t (${names}) select ${values} from ${rows}${conflict}${returningText(returning)}`,
    parameters: transpose(columns),
  }
}

/**
 * All parts of a key are columns of the arrays, so that no plan is tempted to walk all rows with
 * one part of it.
 */
function bulkSelect({
  table,
  joins = '',
  keys,
  columns,
  lock,
  skipLocked = false,
}: BulkSelect): BulkStatement {
  const { given, on } = keyParts(keys)
  const skip = skipLocked ? ' skip locked' : ''
  const found = (rows: string) =>
    `select ${columns} from ${rows} as v join ${table} as t on ${on} ${joins}`
  return {
    sql: lock
      ? `${found(rowsOfArrays(given, { place: 'place' }))} order by v.place ${lock} of t${skip}`
      : found(rowsOfArrays(given)),
    parameters: transpose(keys),
  }
}

/** The statement inserts after the head of their app is locked, since the rows are joined with it. */
export function bulkAppend({ heads, rows, more }: BulkAppend): AppendStatement {
  const headsCount = Object.keys(heads.columns).length
  const rowsEnd = headsCount + Object.keys(rows.columns).length
  const further =
    more &&
    `,
      moved as (${insertWithPositions(more, rowsEnd)})`
  return {
    sql: `with head as (${bulkInsert(heads).sql}),
      appended as (${insertWithPositions(rows, headsCount)})${further ?? ''}
      select * from head`,
    parameters: (headRows, newRows, moreRows = []) => [
      ...transpose(heads.columns)(headRows),
      ...transpose(rows.columns)(newRows),
      ...(more ? transpose(more.columns)(moreRows) : []),
    ],
  }
}

/** @param before number of parameters before those of the rows */
function insertWithPositions(
  { table, columns, conflict = '' }: BulkInsert,
  before: number,
): string {
  const names = Object.keys(columns)
  const values = names.map((name) =>
    name === 'position' ? 'head.position - v.position' : `v.${name}`,
  )
  return `insert into ${table} as t (${names.join(', ')})
        select ${values.join(', ')} from ${rowsOfArrays(columns, { before })} as v
        join head on head.app_id = v.app_id${conflict}`
}

function bulkDelete({ deleteFrom, keys }: BulkDelete): BulkStatement {
  const { given, on } = keyParts(keys)
  return {
    sql: `delete from ${deleteFrom} as t using ${rowsOfArrays(given)} as v where ${on}`,
    parameters: transpose(keys),
  }
}

/** Under other names, because a statement may return a column that is a key. */
function keyParts(keys: Types): { given: Types; on: string } {
  return {
    given: prefixed('key', keys),
    on: Object.keys(keys)
      .map((name) => `t.${name} = v.key_${name}`)
      .join(' and '),
  }
}

function bulkUpdate({ table, set, adds, keys, returning }: BulkUpdate): BulkStatement {
  const changes = Object.keys(set)
    .map((name) => `${name} = ${adds ? `t.${name} + ` : ''}v.new_${name}`)
    .join(', ')
  const { given, on } = keyParts(keys)
  // Under other names, because a column that is a key may be one that is set.
  const types = { ...prefixed('new', set), ...given }
  return {
    sql: `update ${table} as t set ${changes} from ${rowsOfArrays(types)} as v where ${on}${returningText(returning)}`,
    parameters: transpose(types),
  }
}

function prefixed(prefix: string, columns: Types): Types {
  return Object.fromEntries(
    Object.entries(columns).map(([name, type]) => [`${prefix}_${name}`, type]),
  )
}
