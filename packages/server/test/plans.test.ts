/** How the embedded database goes about its statements. */
import { join } from 'node:path'
import { TempFolder } from '@hermod/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Database } from '../dist/db/database.js'
import { sqliteDialect } from '../dist/db/dialect/sqlite.js'
import { migrate } from '../dist/db/migrations/migrate.js'

interface IndexColumns {
  readonly table_name: string
  readonly first: string
  readonly second: string
}

describe('plans of SQLite', () => {
  const folder = new TempFolder('plans')
  let database: Database

  beforeAll(async () => {
    database = new Database(sqliteDialect(join(folder.path, 'hermod.db')))
    await migrate(database)
  })

  afterAll(async () => {
    await database[Symbol.asyncDispose]()
    folder[Symbol.dispose]()
  })

  it('never walk all rows of an application where an index has a second column for it', async () => {
    const { rows } = await sql<IndexColumns>`
      select t.name as table_name, (select name from pragma_index_info(i.name) where seqno = 0) as first,
        (select name from pragma_index_info(i.name) where seqno = 1) as second
      from pragma_table_list t join pragma_index_list(t.name) i
      where t.type = 'table' and i.partial = 0 and first = 'app_id' and second is not null`.execute(
      database.writer,
    )
    expect(rows.length).toBeGreaterThan(30)
    for (const { table_name, second } of rows) {
      const found = sql`explain query plan select * from ${sql.table(table_name)} where app_id = ${'a'} and ${sql.ref(second)} = ${1}`
      const [plan] = (await found.execute(database.writer)).rows as { readonly detail: string }[]
      expect(plan?.detail, `${table_name} by ${second}`).toContain(`(app_id=? AND ${second}=?)`)
    }
  })

  it('find the banned members of a group among the banned ones', async () => {
    const group = sql`app_id = ${'a'} and group_id = ${1} and ban_expires_at <> 0 and ban_expires_at > ${5}`
    for (const found of [
      sql`select * from group_members where ${group} and user_id > ${7} order by user_id limit 10`,
      sql`select count(*) from group_members where ${group}`,
    ]) {
      const { rows } = await sql`explain query plan ${found}`.execute(database.writer)
      const [plan] = rows as { readonly detail: string }[]
      expect(plan?.detail).toContain('group_members_banned')
    }
  })
})
