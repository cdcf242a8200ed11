import { describe, expect, it } from 'vitest'
import { Database, type Tx } from './database.js'
import type { SqlDialect } from './dialect/dialect.js'
import {
  DummyDriver,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteQueryCompiler,
} from './kysely.js'
import { lockForUpdate, lockKeyShare, lockNoKeyUpdate, lockShare } from './locking.js'

const found = (tx: Tx) => tx.selectFrom('users as u').select('u.user_id')

const locks = {
  'for update': (tx: Tx) => lockForUpdate(tx, found(tx)),
  'for update of "u"': (tx: Tx) => lockForUpdate(tx, found(tx), { of: ['u'] }),
  'for update skip locked': (tx: Tx) => lockForUpdate(tx, found(tx), { skipLocked: true }),
  'for no key update': (tx: Tx) => lockNoKeyUpdate(tx, found(tx)),
  'for share': (tx: Tx) => lockShare(tx, found(tx)),
  'for key share': (tx: Tx) => lockKeyShare(tx, found(tx)),
}
const query = 'select "u"."user_id" from "users" as "u"'

/** A database that stores nothing: what matters is the text. */
function databaseOf(name: SqlDialect['name']): Database {
  const isPostgres = name === 'postgres'
  const writes = {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: (db: never) => new PostgresIntrospector(db),
    createQueryCompiler: () =>
      isPostgres ? new PostgresQueryCompiler() : new SqliteQueryCompiler(),
  }
  return new Database({ name, writes, rowLocks: isPostgres } as unknown as SqlDialect)
}

describe('row locks', () => {
  it.each(Object.entries(locks))('PostgreSQL locks rows %s', async (clause, lock) => {
    const text = await databaseOf('postgres').transaction(async (tx) => lock(tx).compile().sql)
    expect(text).toBe(`${query} ${clause}`)
  })

  it.each(Object.entries(locks))('SQLite selects without the clause %s', async (_, lock) => {
    const text = await databaseOf('sqlite').transaction(async (tx) => lock(tx).compile().sql)
    expect(text).toBe(query)
  })
})
