/** PostgreSQL with fewer connections than the pool of the service, and with settings of its own. */
import { type Session, startServer, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { Database, type Queryable } from '../../dist/db/database.js'
import { postgresDialect } from '../../dist/db/dialect/postgres.js'
import { sql } from '../../dist/db/kysely.js'
import { openSql } from '../support/database/sql.js'
import { integrityFaults, sendText } from '../support/messaging/messaging.js'

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'a role of PostgreSQL',
  (backend) => {
    it('with three connections and other settings serves calls that need ten and long reads, and the start reports the limit', async () => {
      await using database = await backend.createDatabase()
      const url = new URL(database.url as string)
      const role = `few_${url.pathname.slice(1)}`
      await using admin = await openSql({ dataDir: '', databaseUrl: url.href })
      await admin.run(`create role ${role} login connection limit 3`)
      await admin.run(`grant create on schema public to ${role}`)
      await admin.run(`alter role ${role} set array_nulls = off`)
      await admin.run(`alter role ${role} set standard_conforming_strings = off`)
      await admin.run(`alter role ${role} set default_transaction_isolation = 'serializable'`)
      const databaseUrl = Object.assign(new URL(url), { username: role }).href
      {
        await using server = await startServer({ databaseUrl })
        expect(server.output()).toContain(
          `the role ${role} (CONNECTION LIMIT) allows 3 connections, fewer than the 12 that this node may open; raise the limit, or lower HERMOD_DATABASE_POOL`,
        )
        const [alice, bob] = (await Promise.all([
          server.api.newLogin(),
          server.api.newLogin(),
        ])) as [Session, Session]
        // Reads and writes of more than three connections at the same time.
        const calls = Array.from({ length: 40 }, async (_, index) => {
          await sendText(alice.api, bob.id, String(index))
          return (await bob.api.call('GET', '/user/settings')).code
        })
        expect(new Set(await Promise.all(calls))).toEqual(new Set([200]))
        expect(await integrityFaults(server)).toEqual([])
      }
      await admin.run(`drop owned by ${role}`)
      await admin.run(`drop role ${role}`)
    })

    it('whose statements have a time limit has none for long reads and migrations', async () => {
      await using made = await backend.createDatabase()
      const { href: url, pathname } = new URL(made.url as string)
      await using admin = await openSql({ dataDir: '', databaseUrl: url })
      await admin.run(`alter database ${pathname.slice(1)} set statement_timeout = '900ms'`)
      await using database = new Database(postgresDialect({ url, poolSize: 2, onError: () => {} }))
      const sleep = (db: Queryable) => sql`select pg_sleep(1)`.execute(db)
      await Promise.all([database.snapshot(sleep), database.withoutDeadline(sleep)])
    })

    it('with other columns in a table than before fails one call with a prepared statement for it', async () => {
      await using database = await backend.createDatabase()
      const dialect = postgresDialect({
        url: database.url as string,
        poolSize: 1,
        onError: () => {},
      })
      await using admin = await openSql({ dataDir: '', databaseUrl: database.url })
      await admin.run('create table grows (a int)')
      const read = async () => dialect.readNow('select * from grows where a > $1', [0])
      await read()
      await admin.run('alter table grows add column b int')
      await expect(read()).rejects.toMatchObject({ code: '0A000' })
      expect(await read()).toEqual([])
      await dialect.close?.()
    })
  },
)
