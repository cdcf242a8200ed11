import { DatabaseSync } from '@photostructure/sqlite'
import { expect, it } from 'vitest'
import type { SqlDialect } from './dialect/dialect.js'
import { initialStatements } from './migrations/001-initial.js'
import * as schema from './schema.js'

const dialect = { clusteredTable: '', roomForChanges: '' } as SqlDialect

it('the description of a table has the columns of its DDL, with their types', () => {
  const database = new DatabaseSync(':memory:')
  for (const statement of initialStatements(dialect)) database.exec(statement)
  const typesOf = database.prepare('select name, lower(type) as type from pragma_table_info(?)')
  const described = Object.entries(schema)
  expect(described.length).toBeGreaterThan(5)
  for (const [name, columns] of described) {
    const table = name
      .replace(/Table$/, '')
      .replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    const rows = typesOf.all(table)
    expect(Object.fromEntries(rows.map((row) => [row.name, row.type])), name).toEqual(columns)
  }
})
