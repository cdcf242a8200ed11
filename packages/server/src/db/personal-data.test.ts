import { DatabaseSync } from '@photostructure/sqlite'
import { expect, it } from 'vitest'
import type { SqlDialect } from './dialect/dialect.js'
import { initialStatements } from './migrations/001-initial.js'
import { type PersonalColumn, personalData } from './personal-data.js'

const dialect = { clusteredTable: '', roomForChanges: '' } as SqlDialect
const tables: [string, Record<string, PersonalColumn>][] = Object.entries(personalData)

it('has every column of every table of the DDL, and no others', () => {
  const database = new DatabaseSync(':memory:')
  for (const statement of initialStatements(dialect)) database.exec(statement)
  const rows = database
    .prepare(
      `select t.name as name, c.name as column_name from sqlite_master t, pragma_table_info(t.name) c
        where t.type = 'table' and t.name not like 'sqlite_%'`,
    )
    .all()
  const inDdl = rows.map((row) => `${row.name}.${row.column_name}`)
  const described = tables.flatMap(([table, columns]) =>
    Object.keys(columns).map((column) => `${table}.${column}`),
  )
  expect(described.sort()).toEqual(inDdl.sort())
})

it('gives a reason for each column that is kept, and the value of each that is emptied', () => {
  for (const [table, columns] of tables)
    for (const [column, { erase, reason, value, left }] of Object.entries(columns)) {
      const entry = `${table}.${column}`
      expect([entry, typeof reason]).toEqual([entry, erase === 'keep' ? 'string' : 'undefined'])
      expect([entry, value !== undefined]).toEqual([entry, erase === 'anonymise'])
      for (const sentence of [reason, left])
        expect(sentence ?? 'It has one.').toMatch(/^[A-Z].+\.$/)
    }
})

it('names the owner of each table with rows that are deleted', () => {
  for (const [table, columns] of tables) {
    const entries = Object.values(columns)
    // The texts in these tables are found by other means.
    if (/^(?:outbox|jobs|webhook_events|webhook_attempts|push_tasks)$/.test(table)) continue
    const isDeleted = entries.some(({ erase }) => erase === 'delete')
    expect([table, entries.some(({ isOwner }) => isOwner)]).toEqual([table, isDeleted])
  }
})
