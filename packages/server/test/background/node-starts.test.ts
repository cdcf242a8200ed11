/** What the start of a node tells and refuses when there are others. */
import { startServer, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { openSql } from '../support/database/sql.js'
import { callHermod } from '../support/hermod-command.js'
import { integrityFaults } from '../support/messaging/messaging.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

describe.each(testBackends().filter(({ name }) => name === 'postgres'))(
  'a start beside other nodes',
  (backend) => {
    it('reports settings that differ, and pools that PostgreSQL has no room for, as hermod check does', async () => {
      await using database = await backend.createDatabase()
      const options = { ...sharedTokens, databaseUrl: database.url as string }
      await using first = await startServer({ ...options, env: sharedKey })
      expect(await integrityFaults(first)).toEqual([])
      expect(first.output()).not.toContain('must be the same')
      const env = {
        ...sharedKey,
        HERMOD_USER_TOKEN_DAYS: '7',
        HERMOD_LOG_LEVEL: 'debug',
        HERMOD_DATABASE_POOL: '90',
      }
      await using second = await startServer({ ...options, env })
      const differing =
        /HERMOD_USER_TOKEN_DAYS must be the same on all nodes, and is 30 on node \w+ \(.*\), 7 on node \w+ \(/
      const pools =
        /PostgreSQL .* allows \d+ connections, fewer than the 104 that the nodes may open/
      expect(second.output()).toMatch(differing)
      expect(second.output()).toMatch(pools)
      for (const node of [first, second])
        expect(await integrityFaults(node)).toEqual([
          {
            check: 'node_settings',
            app_id: '',
            subject: 'HERMOD_USER_TOKEN_DAYS',
            detail: expect.stringMatching(differing),
          },
          {
            check: 'node_connections',
            app_id: '',
            subject: 'HERMOD_DATABASE_POOL',
            detail: expect.stringMatching(pools),
          },
        ])
      const settings = { HERMOD_DATA_DIR: second.dataDir, HERMOD_DATABASE_URL: database.url }
      const { out } = await callHermod(['nodes'], settings)
      expect(out).toMatch(differing)
      expect(out).toMatch(pools)
      const checked = await callHermod(['check'], settings)
      expect(checked.code).toBe(1)
      expect(checked.err).toContain('give all nodes the same settings')
      await second.stop()
      expect(await integrityFaults(first)).toEqual([])
    })

    it('is refused beside 63 nodes, and not beside one that is silent', async () => {
      await using database = await backend.createDatabase()
      const options = { ...sharedTokens, databaseUrl: database.url as string, env: sharedKey }
      await using first = await startServer(options)
      await using sql = await openSql({ dataDir: first.dataDir, databaseUrl: database.url })
      await sql.run(`insert into nodes
        (node_id, lease, started_at, heartbeat_at, drain, version, schema, host, pool, figures, settings)
        select 'other' || number, number, 0, extract(epoch from now())::bigint * 1000 + 600000,
          0, '', 1, '', 1, '{}', '{}' from generate_series(1, 62) as number`)
      await expect(startServer(options)).rejects.toThrow(
        '63 nodes use the database already, and IDs are divided among as many; stop one of them, or wait a minute for one that was killed',
      )
      await sql.run(
        `update nodes set heartbeat_at = heartbeat_at - 700000 where node_id = 'other1'`,
      )
      await using second = await startServer(options)
      await second.api.newSession()
    })

    it('is refused in the data folder of another node', async () => {
      await using database = await backend.createDatabase()
      const options = { ...sharedTokens, databaseUrl: database.url as string, env: sharedKey }
      await using first = await startServer(options)
      await expect(startServer({ ...options, dataDir: first.dataDir })).rejects.toThrow(
        `is in use by process ${first.pid}; stop that process or set HERMOD_DATA_DIR to another folder`,
      )
      await first.api.newSession()
    })
  },
)
