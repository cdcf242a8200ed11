/** Mobile numbers of an earlier version after migration 013. */
import { join } from 'node:path'
import { TempFolder, testBackends } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { Database } from '../../dist/db/database.js'
import { postgresDialect } from '../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../dist/db/dialect/sqlite.js'
import { type Migration, Migrator, sql } from '../../dist/db/kysely.js'
import { initialMigration } from '../../dist/db/migrations/001-initial.js'
import { mobileKeys } from '../../dist/db/migrations/013-mobile-keys.js'

/** By user ID: the number, and the form in which it is compared afterwards. */
const numbers = [
  [1, '+4915112345678', '+4915112345678'],
  [2, '13800138001', '+8613800138001'],
  [3, null, null],
  [4, '13900139002', null],
  [5, '+8613900139002', '+8613900139002'],
] as const

it.each(testBackends())(
  'migration 013 on $name: of two forms of one number the one with the code of the country stays',
  async (backend) => {
    using folder = new TempFolder('mobile-migration')
    await using made = await backend.createDatabase()
    await using database = new Database(
      made.url === undefined
        ? sqliteDialect(join(folder.path, 'hermod.db'))
        : postgresDialect({ url: made.url, poolSize: 2, onError: () => {} }),
    )
    const db = database.writer
    const migrate = async (migrations: Record<string, Migration>) => {
      const provider = { getMigrations: async () => migrations }
      expect((await new Migrator({ db, provider }).migrateToLatest()).error).toBeUndefined()
    }
    const initial = initialMigration(database.dialect)
    await migrate({ '001': initial })
    await sql`insert into apps (app_id, name, status, open_registration, registration_secret, file_link_key, settings, created_at) values ('test', '', 0, 1, '', '', '{}', 0)`.execute(
      db,
    )
    for (const [id, mobile] of numbers)
      await sql`insert into users (app_id, user_id, username, password_hash, status, nick_name, avatar, description,
        public_info, private_info, mobile, last_device_sn, credential_epoch, created_at)
      values ('test', ${id}, ${`user${id}`}, '', 0, '', '', '', '', '', ${mobile}, 0, 0, 0)`.execute(
        db,
      )
    await migrate({ '001': initial, '013': mobileKeys })
    const { rows } = await sql<{
      user_id: number
      mobile: string | null
      mobile_key: string | null
    }>`
    select user_id, mobile, mobile_key from users order by user_id`.execute(db)
    expect(
      rows.map(({ user_id, mobile, mobile_key }) => [Number(user_id), mobile, mobile_key]),
    ).toEqual(numbers)
  },
)
