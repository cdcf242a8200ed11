/** Leases of nodes on one database. */
import {
  descendants,
  isFullRun,
  PostgresCluster,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Database } from '../../dist/db/database.js'
import { LiveNode } from '../../dist/nodes/live-node.js'
import { LiveShares } from '../../dist/nodes/live-shares.js'
import { NodeStore } from '../../dist/nodes/node-store.js'
import { ShareStore } from '../../dist/nodes/share-store.js'
import { OutboxDatabase, patience } from '../support/database/outbox-node.js'
import { openSql, type Sql } from '../support/database/sql.js'
import { callHermod } from '../support/hermod-command.js'
import { contents, sendText } from '../support/messaging/messaging.js'
import { InProcessServer } from '../support/in-process-server.js'
import { sharedKey, sharedTokens } from '../support/shared-settings.js'

const postgres = testBackends().filter(({ name }) => name === 'postgres')
const facts = { version: '1', schema: 1, host: 'test', pool: 1, settings: {} }

describe.each(postgres)('leases of nodes', (backend) => {
  let place: OutboxDatabase
  let database: Database
  let sql: Sql
  let store: NodeStore

  beforeEach(async () => {
    place = await OutboxDatabase.create(backend)
    database = place.openDatabase()
    store = new NodeStore(database)
    sql = await openSql({ dataDir: '', databaseUrl: place.database.url })
  })

  afterEach(async () => {
    await sql[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  })

  /** A node whose monotonic clock the test moves. */
  function makeNode(id: string, aheadMs = 8_000) {
    const told: string[] = []
    let passedMs = 0
    const node = new LiveNode({
      id,
      store,
      facts,
      renewId: () => `${id}2`,
      now: () => performance.now() + passedMs,
      clock: { now: () => Date.now() + aheadMs },
      observer: {
        clockDiffers: (aheadMs) => told.push(`clock ${Math.round(aheadMs / 1_000)}`),
        ended: (other) => told.push(`ended ${other}`),
        lost: (reason) => told.push(`lost: ${reason}`),
        failed: (error) => told.push(`${error}`),
      },
    })
    node.figures.add('sends', { own: () => 1 })
    const beat = async (times: number) => {
      for (let time = 0; time < times; time++) {
        passedMs += 5_000
        await node.tick()
      }
    }
    return { node, told, beat }
  }

  const silence = (id: string, ms: number) =>
    sql.run(`update nodes set heartbeat_at = heartbeat_at - ${ms} where node_id = '${id}'`)

  it('numbers: are taken once, by nodes that start at the same moment too', async () => {
    const ids = Array.from({ length: 8 }, (_, index) => `node ${index}`)
    const leases = await Promise.all(ids.map((id) => store.take(id, facts)))
    expect(new Set(leases).size).toBe(8)
    const last = Math.max(...leases)
    await vi.waitUntil(() => Date.now() > last)
    await sql.run('delete from nodes')
    expect(await store.take('node 0', facts)).toBeGreaterThan(last)
    const again = await store.take('node 0', facts)
    expect(await sql.run('select node_id, lease from nodes')).toEqual([
      { node_id: 'node 0', lease: again },
    ])
  })

  it('a silent node: is ended by one with steady heartbeats, and goes on with a new number', async () => {
    const [a, b] = [makeNode('a'), makeNode('b')]
    await Promise.all([a.node.start(), b.node.start()])
    expect(a.told).toEqual(['clock 8'])
    const { lease } = b.node
    await silence('b', 14_000)
    await a.beat(4)
    expect(a.told).toEqual(['clock 8'])
    await silence('b', 2_000)
    await a.beat(1)
    expect(a.told).toEqual(['clock 8', 'ended b'])
    await b.beat(1)
    expect(b.told).toEqual(['clock 8', 'lost: ended'])
    expect([b.node.id, b.node.isLive, b.node.lease > lease]).toEqual(['b', true, true])
    await Promise.all([a.node.stop(), b.node.stop()])
    expect(await sql.run('select * from nodes')).toEqual([])
  })

  it('after an outage of the database: no node is ended, for all of them were silent', async () => {
    const [a, b] = [makeNode('a'), makeNode('b')]
    await Promise.all([a.node.start(), b.node.start()])
    await a.beat(4)
    for (const id of ['a', 'b']) await silence(id, 20_000)
    expect(
      await store.endSilent(
        { nodeId: 'a', lease: a.node.lease },
        { silentMs: 15_000, freshMs: 7_500 },
      ),
      'a statement that was on its way during the outage',
    ).toEqual([])
    await Promise.all([b.beat(1), a.beat(1)])
    expect([...a.told, ...b.told]).toEqual(['clock 8', 'clock 8'])
    await Promise.all([a.node.stop(), b.node.stop()])
  })

  it('two nodes with clocks 8 s apart: no work has two of them at any moment, and each comes to half of it', async () => {
    const nodes = [makeNode('a'), makeNode('b', 0)].map(({ node }) => ({
      node,
      shares: new LiveShares({
        node,
        store: new ShareStore(database),
        failed: (error) => {
          throw error
        },
        pollMs: 20,
        giveBackMs: 0,
      }),
    }))
    const held = nodes.map(({ shares }) =>
      Array.from({ length: 16 }, (_, name) => shares.add('webhooks', `${name}`, async () => {})),
    )
    const counts = () => held.map((works) => works.filter(({ isHeld }) => isHeld).length)
    const atOnce: number[] = []
    const watch = setInterval(() => {
      for (let work = 0; work < 16; work++)
        atOnce.push(held.filter((works) => works[work]?.isOwn).length)
    }, 1)
    for (const { node, shares } of nodes) {
      await node.start()
      await shares.start()
    }
    await waitFor(() => counts().every((count) => count === 8), { what: 'even parts', ...patience })
    await nodes[0]?.shares.stop()
    await nodes[0]?.node.stop()
    await waitFor(() => counts()[1] === 16, { what: 'the other node takes over', ...patience })
    clearInterval(watch)
    expect(Math.max(...atOnce)).toBe(1)
    await nodes[1]?.shares.stop()
    await nodes[1]?.node.stop()
  })

  it('two processes: each has a row, which leaves with it', async () => {
    await using target = await backend.createDatabase()
    const options = {
      databaseUrl: target.url as string,
      env: sharedKey,
    }
    await using first = await startServer(options)
    const { adminToken, operatorToken } = first
    await using second = await startServer({ ...options, adminToken, operatorToken })
    await using rows = await openSql({ dataDir: '', databaseUrl: target.url })
    const ids = async () => (await rows.run('select node_id from nodes')).map((row) => row.node_id)
    expect(new Set(await ids()).size).toBe(2)
    const operator = second.api.as(operatorToken)
    const { data } = await operator.succeed('GET', '/operator/v1/node/list')
    expect(data.notices).toEqual([])
    expect(data.nodes).toEqual([
      expect.objectContaining({ state: 'live', bus: 'connected', shares: expect.any(Number) }),
      expect.objectContaining({ state: 'live', connections: 0, differing_settings: [] }),
    ])
    const [row] = await ids()
    const settings = { HERMOD_DATA_DIR: first.dataDir, HERMOD_DATABASE_URL: target.url }
    expect((await callHermod(['nodes'], settings)).out).toMatch(
      new RegExp(`^node_id .*\n(?:.*\n)?${row} +live +\\S+:\\d+ +\\d`),
    )
    expect(await callHermod(['nodes', 'remove', `${row}`], settings)).toMatchObject({
      code: 1,
      err: expect.stringContaining('node lives: drain it first'),
    })
    expect(await callHermod(['nodes', 'remove', 'stranger'], settings)).toMatchObject({
      code: 1,
      err: expect.stringContaining('hermod nodes lists the nodes'),
    })
    expect(first.output(), 'the line of a start names the node').toContain(`"node":"${row}"`)
    await second.kill9()
    const third = await second.startAgain()
    expect(await ids(), 'the same folder replaces its row').toHaveLength(2)
    await third.stop()
    expect(await ids()).toHaveLength(1)
  })

  it('a dead node: is listed until it is removed', async () => {
    await store.take('a', facts)
    await sql.run('update nodes set ended_at = heartbeat_at')
    expect(await store.list()).toMatchObject([{ nodeId: 'a', state: 'dead' }])
    expect(await store.remove('b')).toBe('absent')
    expect(await store.remove('a')).toBe('removed')
    expect(await store.list()).toEqual([])
  })

  it('a clock that is 6 s off: /readyz is 200 and names it', async () => {
    await using server = new InProcessServer(backend)
    server.clock.set(Date.now() + 6_000)
    await server.open()
    const answer = await fetch(`${server.url}/readyz`)
    expect(answer.status).toBe(200)
    expect(await answer.json()).toEqual({ status: 'ready', degraded: ['clock'] })
    expect(server.output()).toContain('is ahead of that of the database')
    const metrics = await (await fetch(`${server.url}/metrics`)).text()
    expect(metrics).toMatch(/^hermod_nodes 1$/m)
    expect(metrics).toMatch(/^hermod_node_shares\{kind="webhooks"\} 16$/m)
    expect(metrics).toMatch(/^hermod_node_clock_ahead_seconds (5\.9|6)/m)
  })
})

const timeoutMs = 180_000
/** Longer than a node may be silent. */
const longMs = 20_000

if (isFullRun && testBackends().some(({ name }) => name === 'postgres'))
  describe('nodes in real time', () => {
    let cluster: PostgresCluster
    let database: Awaited<ReturnType<PostgresCluster['createDatabase']>>
    let nodes: ServerProcess[]
    let sql: Sql

    beforeAll(async () => {
      // Of its own: it is halted.
      cluster = await PostgresCluster.start()
      database = await cluster.createDatabase()
      const options = { ...sharedTokens, env: sharedKey, databaseUrl: database.url }
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
