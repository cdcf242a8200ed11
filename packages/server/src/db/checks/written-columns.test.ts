import { describe, expect, it } from 'vitest'
import { writesOf } from './written-columns.js'

function forms(sql: string): string[] {
  return writesOf(sql).map(({ table, kind, columns }) => `${kind} ${table}(${columns.join(' ')})`)
}

describe('writesOf', () => {
  const cases: readonly [string, readonly string[]][] = [
    ['select "status" from "users" where "user_id" = $1 for update', []],
    ['select 1 from users for no key update skip locked', []],
    ['insert into "apps" ("app_id", "name") values ($1, $2)', ['insert apps(app_id name)']],
    [
      'insert into "t" ("a", "b") select $1, f($2) on conflict ("a") do nothing returning "a"',
      ['insert t(a b)'],
    ],
    [
      'insert into "t" ("a", "b") values (1, 2) on conflict ("a") do update set "b" = excluded.b, "c" = case when t.c = \'\' then 1 else 2 end where t.a <> 3',
      ['insert t(a b)', 'update t(b c)'],
    ],
    ['insert into t as t (a) values (?)', ['insert t(a)']],
    [
      'update "users" set "status" = ?, "badge" = greatest(1, 2) where "user_id" in (1, 2)',
      ['update users(status badge)'],
    ],
    [
      'update group_members as m set role = 2, ban_expires_at = 0 from groups g where g.x = m.x',
      ['update group_members(role ban_expires_at)'],
    ],
    [
      'update groups set owner_id = (select m.user_id from group_members m where m.a = 1, 2), updated_at = 3 returning group_id',
      ['update groups(owner_id updated_at)'],
    ],
    ['delete from "contacts" where "app_id" = $1 returning "user_id"', ['delete contacts()']],
    [
      'with gone as (delete from a where b = 1 returning c) update d set e = (select c from gone)',
      ['update d(e)', 'delete a()'],
    ],
    ['with n as (update d set e = 1 returning f) select f from n', ['update d(e)']],
  ]
  for (const [sql, expected] of cases)
    it(`finds in "${sql}": ${expected.join(', ') || 'nothing'}`, () => {
      expect(forms(sql)).toEqual(expected)
    })
})
