/** How the embedded database goes about its statements. */
import { join } from 'node:path'
import { TempFolder } from '@hermod/testkit'
import { type RawBuilder, sql } from 'kysely'
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

  async function planOf(statement: RawBuilder<unknown>): Promise<string> {
    const { rows } = await sql<{
      readonly detail: string
    }>`explain query plan ${statement}`.execute(database.writer)
    return rows[0]?.detail ?? ''
  }

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
      // Either column alone may have an index that is as good.
      expect(plan?.detail, `${table_name} by ${second}`).toMatch(
        new RegExp(`[( ]${second}=\\?\\)$`),
      )
    }
  })

  it('find the banned members of a group among the banned ones', async () => {
    const group = sql`app_id = ${'a'} and group_id = ${1} and ban_expires_at <> 0 and ban_expires_at > ${5}`
    for (const found of [
      sql`select * from group_members where ${group} and user_id > ${7} order by user_id limit 10`,
      sql`select count(*) from group_members where ${group}`,
    ])
      expect(await planOf(found)).toContain('group_members_banned')
  })

  it('count bans that have ended without the others of the group', async () => {
    const ended = sql`ban_expires_at > 0 and ban_expires_at <= ${5}`
    const ofGroup = sql`app_id = ${'a'} and group_id = ${1} and ${ended}`
    expect(await planOf(sql`select count(*) from group_members where ${ofGroup}`)).toContain(
      'group_members_ban_ends (app_id=? AND group_id=? AND ban_expires_at>? AND ban_expires_at<?)',
    )
    expect(
      await planOf(
        sql`select app_id, group_id from group_members where ${ended} order by ban_expires_at limit 10`,
      ),
    ).toContain('group_members_bans_ended (ban_expires_at>? AND ban_expires_at<?)')
  })

  it.each([
    ['group_join_requests', 'group_id'],
    ['group_invitations', 'invitee_id'],
  ])('find the newest change of %s at the end of an index', async (table, owner) => {
    const found = sql`select max(updated_at) from ${sql.table(table)} where app_id = ${'a'} and ${sql.ref(owner)} = ${1}`
    expect(await planOf(found)).toContain(`${table}_changed (app_id=? AND ${owner}=?)`)
  })
})
