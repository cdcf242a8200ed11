import { describe, expect, it } from 'vitest'
import type { BulkInsert, BulkUpdate } from './dialect.js'
import { sqliteBulk } from './sqlite-bulk.js'

const insert: BulkInsert = {
  table: 'marks',
  columns: { app_id: 'text', user_id: 'bigint' },
  conflict: 'on conflict (app_id, user_id) do update set user_id = t.user_id',
  returning: 'user_id',
}

const update: BulkUpdate = {
  table: 'marks',
  set: { seq: 'bigint', flag: 'smallint' },
  keys: { app_id: 'text', user_id: 'bigint' },
}

/** Line breaks and repeated blanks mean nothing in SQL. */
const words = (sql: string) => sql.trim().split(/\s+/).join(' ')

describe('sqliteBulk', () => {
  it('inserts one row a run, with its conflict clause and what it returns', () => {
    const { sql } = sqliteBulk(insert)
    expect(words(sql)).toBe(
      'insert into marks as t (app_id, user_id) values (?, ?) on conflict (app_id, user_id) do update set user_id = t.user_id returning user_id',
    )
  })

  it('leaves out what is not asked for', () => {
    const { table, columns } = insert
    expect(words(sqliteBulk({ table, columns }).sql)).toBe(
      'insert into marks as t (app_id, user_id) values (?, ?)',
    )
  })

  it('inserts only rows with a property, without locks', () => {
    const { table, columns } = insert
    const where: BulkInsert['where'] = (lock) =>
      `exists (select 1 from users u where u.id = v.user_id ${lock('for key share')})`
    expect(words(sqliteBulk({ table, columns, where }).sql)).toBe(
      'insert into marks as t (app_id, user_id) select * from (select ? as app_id, ? as user_id) as v where exists (select 1 from users u where u.id = v.user_id )',
    )
  })

  it('selects by all keys at once', () => {
    const { sql } = sqliteBulk({
      table: 'marks',
      keys: { app_id: 'text', user_id: 'bigint' },
      columns: 'user_id, seq',
    })
    expect(words(sql)).toBe(
      'select user_id, seq from marks as t where t.app_id = ? and t.user_id = ?',
    )
  })

  it('changes one row a run, which is found by all keys', () => {
    expect(words(sqliteBulk(update).sql)).toBe(
      'update marks as t set seq = ?, flag = ? where t.app_id = ? and t.user_id = ?',
    )
  })

  it('binds the rows as they are', () => {
    const rows = [
      ['a', 1],
      ['b', 2],
    ]
    expect(sqliteBulk(insert).parameters(rows)).toEqual(rows)
  })
})
