/** HERMOD_CHECK_ANSWERS finds transactions that change what a cache is made of and do not tell the cache. */
import { testBackends } from '@hermod/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { CacheCheck } from '../../dist/db/checks/cache-check.js'
import type { Database, Tx } from '../../dist/db/database.js'
import { InvalidatedCache } from '../../dist/lib/invalidated-cache.js'
import { DatabasePlace } from '../support/database/database-place.js'

const user = { app_id: 'a', user_id: 1, username: 'u', username_key: 'u', password_hash: '' }
const rest = { nick_name: '', avatar: '', description: '', public_info: '', private_info: '' }
const numbers = { last_device_sn: 0, credential_epoch: 0, created_at: 1, status: 0 }
const setting = { app_id: 'a', user_id: 1 }

const userStates = {
  name: 'user-states',
  maxEntries: 10,
  maxAgeMs: 1_000,
  tables: {
    users: { columns: ['status'] },
    user_settings: { columns: ['stranger_chat'], inserts: true },
    user_tokens: { columns: ['revoked_at'], deletes: false },
  },
  keyOf: (key: string) => key,
} as const

describe.each(testBackends())('the check of cache invalidations on $name', (backend) => {
  let place: DatabasePlace
  let database: Database
  const cache = new InvalidatedCache<string, object>(userStates)

  beforeAll(async () => {
    const cacheCheck = new CacheCheck()
    cacheCheck.register(userStates)
    place = await DatabasePlace.create(backend, { cacheCheck })
    database = place.database
  })
  afterAll(() => place?.[Symbol.asyncDispose]())
  beforeEach(async () => {
    const { writer } = database
    for (const table of ['user_tokens', 'user_settings', 'users', 'apps'] as const)
      await writer.deleteFrom(table).execute()
    const app = { app_id: 'a', name: '', status: 0, open_registration: 0, created_at: 1 }
    const texts = { registration_secret: '', file_link_key: '', settings: '' }
    await writer
      .insertInto('apps')
      .values({ ...app, ...texts })
      .execute()
    await writer
      .insertInto('users')
      .values({ ...user, ...rest, ...numbers })
      .execute()
  })

  const setStatus = (tx: Tx, status: number) =>
    tx.updateTable('users').set({ status }).where('user_id', '=', 1).execute()
  const status = async () =>
    (await database.read((db) => db.selectFrom('users').select('status').execute())).map((row) =>
      Number(row.status),
    )
  const forgotten = /the cache user-states is not invalidated by this (update|insert|delete): /

  it('refuses a transaction that changes what a cache is made of and does not tell it', async () => {
    const change = database.transaction((tx) => setStatus(tx, 1))
    await expect(change).rejects.toThrow(
      'the cache user-states is not invalidated by this update: users (status)',
    )
    expect(await status(), 'nothing of it is stored').toEqual([0])
  })

  it('accepts it when the cache forgets it, before or after the statement', async () => {
    await database.transaction(async (tx) => {
      cache.forget(tx, 'a/1')
      await setStatus(tx, 1)
    })
    await database.transaction(async (tx) => {
      await setStatus(tx, 2)
      cache.forget(tx, 'a/1')
    })
    expect(await status()).toEqual([2])
  })

  it('does not accept what another transaction has invalidated', async () => {
    await database.transaction(async (tx) => cache.forget(tx, 'a/1'))
    await expect(database.transaction((tx) => setStatus(tx, 1))).rejects.toThrow(forgotten)
  })

  it('sees statements that are written by hand, and those inside another statement', async () => {
    const byHand = database.transaction((tx) =>
      sql`update users as u set credential_epoch = 1, status = 3 where u.user_id = 1`.execute(tx),
    )
    await expect(byHand).rejects.toThrow(forgotten)
    const removal = database.transaction((tx) => sql`delete from users`.execute(tx))
    await expect(removal).rejects.toThrow('is not invalidated by this delete: users')
  })

  it('leaves columns alone that the cache does not hold, and statements that change nothing', async () => {
    await database.transaction(async (tx) => {
      await tx.updateTable('users').set({ credential_epoch: 5 }).execute()
      await tx.updateTable('users').set({ status: 1 }).where('user_id', '=', 2).execute()
    })
    expect(await status()).toEqual([0])
  })

  it('asks for new rows only where the cache knows of rows that are missing', async () => {
    const other = { ...user, user_id: 2, username_key: 'v' }
    await database.transaction((tx) =>
      tx
        .insertInto('users')
        .values({ ...other, ...rest, ...numbers })
        .execute(),
    )
    const change = database.transaction((tx) =>
      tx
        .insertInto('user_settings')
        .values({ ...setting, stranger_chat: 1 } as never)
        .execute(),
    )
    await expect(change).rejects.toThrow(forgotten)
    await database.transaction((tx) =>
      tx
        .insertInto('user_settings')
        .values({ ...setting, vibratory: 1 } as never)
        .execute(),
    )
  })

  it('sees what an insert does to a row that is there', async () => {
    const add = (tx: Tx) =>
      tx
        .insertInto('user_settings')
        .values({ ...setting, vibratory: 1 } as never)
        .onConflict((conflict) =>
          conflict.columns(['app_id', 'user_id']).doUpdateSet({ stranger_chat: 2 }),
        )
        .execute()
    await expect(database.transaction(add)).rejects.toThrow(forgotten)
  })

  it('leaves deletions alone where the cache is declared to bear them', async () => {
    const row = { app_id: 'a', token_hash: 'h', user_id: 1, created_at: 1, expires_at: 1 }
    await database.transaction(async (tx) => {
      await tx
        .insertInto('user_tokens')
        .values({ ...row, revoked_at: null, device_sn: null })
        .execute()
      await tx.deleteFrom('user_tokens').execute()
    })
    expect(
      await database.read((db) => db.selectFrom('user_tokens').select('token_hash').execute()),
    ).toEqual([])
  })
})
