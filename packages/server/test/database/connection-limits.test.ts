/** PostgreSQL with fewer connections than the pool of the service, and with settings of its own. */
import { type Session, startServer, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { openSql } from '../support/database/sql.js'
import { sendText } from '../support/messaging/messaging.js'

for (const backend of testBackends().filter(({ name }) => name === 'postgres')) {
  describe('a role of PostgreSQL', () => {
    it('with three connections and other settings serves calls that need ten, and the start reports the limit', async () => {
      await using database = await backend.createDatabase()
      const url = new URL(database.url as string)
      const role = `few_${url.pathname.slice(1)}`
      await using sql = await openSql({ dataDir: '', databaseUrl: url.href })
      await sql.run(`create role ${role} login connection limit 3`)
      await sql.run(`grant create on schema public to ${role}`)
      await sql.run(`alter role ${role} set array_nulls = off`)
      await sql.run(`alter role ${role} set standard_conforming_strings = off`)
      await sql.run(`alter role ${role} set default_transaction_isolation = 'serializable'`)
      const databaseUrl = Object.assign(new URL(url), { username: role }).href
      {
        await using server = await startServer({ databaseUrl })
        expect(server.output()).toContain(
          `the role ${role} (CONNECTION LIMIT) allows 3 connections, fewer than the 11 that this node may open; raise the limit, or lower HERMOD_DATABASE_POOL`,
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
      }
      await sql.run(`drop owned by ${role}`)
      await sql.run(`drop role ${role}`)
    })
  })
}
