import type { BulkInsert, BulkSelect, BulkStatement } from './dialect.js'

/** The text of a bulk statement for SQLite, which is run once per row. */
export function sqliteBulk(statement: BulkInsert | BulkSelect): BulkStatement {
  return { sql: 'keys' in statement ? selectText(statement) : insertText(statement), parameters: (rows) => rows }
}

function insertText({ table, columns, conflict = '', returning }: BulkInsert): string {
  const names = Object.keys(columns)
  const values = names.map(() => '?').join(', ')
  return `insert into ${table} as t (${names.join(', ')}) values (${values}) ${conflict}${returning ? ` returning ${returning}` : ''}`
}

function selectText({ table, keys, columns }: BulkSelect): string {
  const where = Object.keys(keys).map((key) => `t.${key} = ?`)
  return `select ${columns} from ${table} as t where ${where.join(' and ')}`
}
