import { DatabaseSync } from '@photostructure/sqlite'
import { expect, it } from 'vitest'
import type { Table } from './columns.js'
import type { SqlDialect } from './dialect/dialect.js'
import { initialStatements } from './migrations/001-initial.js'
import { tables } from './schema.js'

const dialect = { clusteredTable: '', roomForChanges: '' } as SqlDialect

it('the description of a table has the columns of its DDL, with their types, and its primary key', () => {
  const database = new DatabaseSync(':memory:')
  for (const statement of initialStatements(dialect)) database.exec(statement)
  const columnsOf = database.prepare(
    'select name, lower(type) as type, pk from pragma_table_info(?)',
  )
  for (const [name, { columns, key }] of Object.entries<Table>(tables)) {
    const rows = columnsOf.all(name) as { name: string; type: string; pk: number }[]
    expect(Object.fromEntries(rows.map((row) => [row.name, row.type])), name).toEqual(columns)
    const keyRows = rows.filter(({ pk }) => pk > 0).sort((a, b) => a.pk - b.pk)
    expect(
      keyRows.map((row) => row.name),
      name,
    ).toEqual(key)
  }
})
