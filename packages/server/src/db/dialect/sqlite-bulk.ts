import {
  type Bulk,
  type BulkDelete,
  type BulkInsert,
  type BulkSelect,
  type BulkStatement,
  type BulkUpdate,
  returningText,
} from './dialect.js'

/** The text of a bulk statement for SQLite, which is run once per row. */
export function sqliteBulk(statement: Bulk): BulkStatement {
  return { sql: bulkText(statement), parameters: (rows) => rows }
}

function bulkText(statement: Bulk): string {
  if ('deleteFrom' in statement) return deleteText(statement)
  if ('set' in statement) return updateText(statement)
  return 'keys' in statement ? selectText(statement) : insertText(statement)
}

function insertText({ table, columns, where, conflict = '', returning }: BulkInsert): string {
  const names = Object.keys(columns)
  const rows = where
    ? `select * from (select ${names.map((name) => `? as ${name}`).join(', ')}) as v where ${where(() => '')}`
    : `values (${names.map(() => '?').join(', ')})`
  return `insert into ${table} as t (${names.join(', ')}) ${rows} ${conflict}${returningText(returning)}`
}

function selectText({ table, joins = '', keys, columns }: BulkSelect): string {
  return `select ${columns} from ${table} as t ${joins} where ${condition(keys)}`
}

function updateText({ table, set, adds, keys, returning }: BulkUpdate): string {
  const changes = Object.keys(set).map((column) => `${column} = ${adds ? `t.${column} + ` : ''}?`)
  return `update ${table} as t set ${changes.join(', ')} where ${condition(keys)}${returningText(returning)}`
}

function deleteText({ deleteFrom, keys }: BulkDelete): string {
  return `delete from ${deleteFrom} as t where ${condition(keys)}`
}

function condition(keys: BulkUpdate['keys']): string {
  return Object.keys(keys)
    .map((key) => `t.${key} = ?`)
    .join(' and ')
}
