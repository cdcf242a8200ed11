/** Nodes that are killed and stopped, and a database that stops, in real time. */
import {
  descendants,
  isFullRun,
  PostgresCluster,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSql, type Sql } from '../support/database/sql.js'
import { contents, sendText } from '../support/messaging/messaging.js'

const tokens = { adminToken: `hma_${'a'.repeat(48)}`, operatorToken: `hmo_${'b'.repeat(48)}` }
const env = { HERMOD_SECRET_KEY: `key-${'k'.repeat(40)}` }
const timeoutMs = 180_000
/** Longer than a node may be silent. */
const longMs = 20_000

if (isFullRun && testBackends().some(({ name }) => name === 'postgres'))
  describe('nodes on PostgreSQL', () => {
    let cluster: PostgresCluster
    let database: Awaited<ReturnType<PostgresCluster['createDatabase']>>
    let nodes: ServerProcess[]
    let sql: Sql

    beforeAll(async () => {
      // Of its own: it is halted.
      cluster = await PostgresCluster.start()
      database = await cluster.createDatabase()
      const options = { ...tokens, env, databaseUrl: database.url }
      nodes = [await startServer(options), await startServer(options)]
      sql = await openSql({ dataDir: '', databaseUrl: database.url })
    }, timeoutMs)

    afterAll(async () => {
      await sql?.[Symbol.asyncDispose]()
      for (const node of nodes ?? []) await node[Symbol.asyncDispose]()
      await database?.[Symbol.asyncDispose]()
      await cluster?.[Symbol.asyncDispose]()
    })

    const leases = async () =>
      (await sql.run('select lease from nodes where ended_at is null order by lease')).map(
        ({ lease }) => Number(lease),
      )
    /** The works of each node that lives, by its lease. */
    const parts = async () =>
      (
        await sql.run(
          `select n.lease, (select count(*) from node_shares s where s.lease = n.lease and kind = 'webhooks') as shares
           from nodes n where n.ended_at is null order by n.lease`,
        )
      ).map(({ shares }) => Number(shares))
    const isEven = () =>
      waitFor(async () => (await parts()).join() === '8,8', {
        what: 'each node has half of the work',
        timeoutMs: 90_000,
      })
    const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

    it('a node that starts: comes to half of the work', { timeout: timeoutMs }, isEven)

    it('a database that stops for 20 s: ends no node', { timeout: timeoutMs }, async () => {
      const before = await leases()
      const processes = [cluster.postmasterPid, ...descendants(cluster.postmasterPid)]
      for (const pid of processes) process.kill(pid, 'SIGSTOP')
      await sleep(longMs)
      for (const pid of processes) process.kill(pid, 'SIGCONT')
      // So long that nodes which are wrong about others have said so.
      await sleep(longMs)
      expect(await leases()).toEqual(before)
      await isEven()
    })

    it('a node that stands still for 20 s: loses its work, takes a new number and goes on', {
      timeout: timeoutMs,
    }, async () => {
      const [first, second] = nodes as [ServerProcess, ServerProcess]
      const before = await leases()
      first.signal('SIGSTOP')
      await sleep(longMs)
      expect(await parts()).toEqual([16])
      first.signal('SIGCONT')
      await waitFor(async () => (await leases()).length === 2, {
        what: 'a new number',
        timeoutMs: 30_000,
      })
      const after = await leases()
      expect([before.includes(after[0] ?? 0), before.includes(after[1] ?? 0)]).toEqual([
        true,
        false,
      ])
      const alice = await first.api.newSession()
      const bob = await second.api.newSession()
      await sendText(alice.api, bob.id, 'hello')
      expect(await contents(bob.api, alice.id)).toEqual(['hello'])
      await isEven()
    })

    it('a killed node: is replaced within 20 s of its last heartbeat', {
      timeout: timeoutMs,
    }, async () => {
      const [first, second] = nodes as [ServerProcess, ServerProcess]
      await second.kill9()
      await waitFor(async () => (await parts()).join() === '16', {
        what: 'the other node has the work',
        timeoutMs: 30_000,
      })
      const [row] = await sql.run(
        'select extract(epoch from now()) * 1000 - heartbeat_at as age from nodes where ended_at is not null',
      )
      expect(Number(row?.age)).toBeLessThan(20_000)
      expect(first.output()).toContain('gives no sign of life')
      nodes[1] = await second.startAgain()
      await isEven()
    })
  })
