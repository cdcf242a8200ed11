/** Nodes that do jobs are killed with SIGKILL: what was ordered happens all the same. */
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Backend, Child, isFullRun, parallelBackend, waitFor } from '@hermod/testkit'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DatabasePlace } from '../support/database/database-place.js'
import { hermodEnvironment } from '../support/hermod-command.js'
import { Random } from '../support/random.js'

const folder = resolve(import.meta.dirname, '../support/database')
/** HERMOD_TEST_SEED repeats a run as far as the choices of the test go. */
const seed = Number(process.env.HERMOD_TEST_SEED ?? 20_260_102)
const rounds = isFullRun ? 5 : 2
/** More rounds follow while no kill has met a job. */
const maxRounds = 16
const jobsPerNode = 30
const leaseMs = 1_000
/** So long that a node which is slow, or waits for its disk, still renews it in time. */
const keptLeaseMs = isFullRun ? 4_000 : 2_000
const timeoutMs = 300_000
const patience = { timeoutMs: 120_000 }

/** SQLite has one node at a time; PostgreSQL two, of which one is killed in each round. */
const nodesAtOnce: Readonly<Record<Backend['name'], number>> = { sqlite: 1, postgres: 2 }

describe.each(parallelBackend('durable'))('jobs on $name', (backend) => {
  let place: DatabasePlace
  let nodes: Child[]

  beforeEach(async () => {
    nodes = []
    place = await DatabasePlace.create(backend)
    const { writer } = place.database
    await sql`create table job_orders (n integer primary key not null)`.execute(writer)
    await sql`create table job_effects (n integer not null, step text not null, primary key (n, step))`.execute(
      writer,
    )
  })
  afterEach(async () => {
    for (const node of nodes) node.killTree()
    await Promise.all(nodes.map((node) => node.exited))
    await place[Symbol.asyncDispose]()
  })

  function startNode(
    from: number,
    to: number,
    more: { readonly isStuck?: boolean; readonly leaseMs?: number } = {},
  ): Child {
    const options = {
      place: place.url ?? join(place.folder.path, 'hermod.db'),
      leaseMs,
      from,
      to,
      ...more,
    }
    return startChild('job-node.mjs', options)
  }

  function startChild(script: string, options: object): Child {
    const node = new Child([process.execPath, join(folder, script), JSON.stringify(options)], {
      env: hermodEnvironment({}),
    })
    nodes.push(node)
    return node
  }

  async function kill(node: Child): Promise<void> {
    node.signal('SIGKILL')
    const { signal } = await node.exited
    expect(signal, `it ended by the kill and not before\n${node.output()}`).toBe('SIGKILL')
    nodes.splice(nodes.indexOf(node), 1)
  }

  const lines = (node: Child, begin: string) =>
    node
      .output()
      .split('\n')
      .filter((line) => line.startsWith(begin)).length
  const says = (node: Child, begin: string, times = 1) =>
    waitFor(async () => lines(node, begin) >= times || node.exit !== null, {
      what: `${times} times "${begin}"`,
      ...patience,
    })
  const numbers = async (table: 'job_orders' | 'job_effects' | 'job_steps', column = 'n') => {
    const { rows } = await sql<{
      n: number
    }>`select ${sql.ref(column)} as n from ${sql.table(table)} order by n`.execute(
      place.database.writer,
    )
    return rows.map(({ n }) => Number(n))
  }
  const unfinished = async () => {
    const rows = await place.database.read((db) =>
      db.selectFrom('jobs').select('job_id').where('outcome', '=', '').execute(),
    )
    return rows.length
  }

  if (isFullRun)
    test('kills of nodes: every ordered job is done', {
      timeout: timeoutMs,
    }, async () => {
      console.log(`jobs crash test on ${backend.name}: seed ${seed}`)
      const random = new Random(seed)
      let ordered = 0
      const next = () => {
        startNode(ordered, ordered + jobsPerNode)
        ordered += jobsPerNode
      }
      while (nodes.length < nodesAtOnce[backend.name]) next()
      let taken = 0
      for (let round = 0; round < rounds || (taken === 0 && round < maxRounds); round++) {
        const node = random.pick(nodes)
        await says(node, 'begin', random.integer(1, jobsPerNode / 2))
        await sleep(random.next() * 20)
        taken += lines(node, 'begin') - lines(node, 'end')
        await kill(node)
        next()
      }
      await Promise.all(nodes.map((node) => says(node, 'ordered', jobsPerNode)))
      await waitFor(async () => (await unfinished()) === 0, {
        what: 'the end of all jobs',
        ...patience,
      })
      const orders = await numbers('job_orders')
      expect(orders.length).toBeGreaterThan(jobsPerNode)
      expect(taken, 'some were killed in the midst of jobs').toBeGreaterThan(0)
      const jobs = await place.database.read((db) =>
        db.selectFrom('jobs').select(['payload', 'outcome']).execute(),
      )
      const payloads = jobs.map(({ payload }) => Number(JSON.parse(payload).n))
      // A job for every order and none without, since both are of one transaction.
      expect(payloads.sort((a, b) => a - b)).toEqual(orders)
      expect(new Set(jobs.map(({ outcome }) => outcome))).toEqual(new Set(['done']))
      expect(await numbers('job_effects')).toEqual(orders.flatMap((n) => [n, n]))
    })

  test('kill of a node with a long job: another node resumes it, and the job is done once', {
    timeout: timeoutMs,
  }, async () => {
    await sql`create table job_steps (step integer primary key not null)`.execute(
      place.database.writer,
    )
    const where = { place: place.url ?? join(place.folder.path, 'hermod.db'), leaseMs }
    const first = startChild('long-job-node.mjs', { ...where, orders: true, stopsAfter: 2 })
    await says(first, 'step 2')
    await kill(first)
    const second = startChild('long-job-node.mjs', where)
    await says(second, 'ended done')
    expect(lines(second, 'step'), second.output()).toBe(1)
    const row = await place.database.read((db) =>
      db.selectFrom('long_jobs').selectAll().executeTakeFirstOrThrow(),
    )
    expect(row).toMatchObject({ state: 'done', result: '{"steps":3}', runs: 2, total: 3 })
    expect(await numbers('job_steps', 'step')).toEqual([1, 2, 3])
  })

  test('kill of a node with a job: another node takes the job when the lease ends and not before', {
    timeout: timeoutMs,
  }, async () => {
    const stuck = startNode(1, 2, { isStuck: true, leaseMs: keptLeaseMs })
    await says(stuck, 'begin 1')
    const other = startNode(0, 0, { leaseMs: keptLeaseMs })
    await says(other, 'working')
    // The lease is renewed for as long as the node lives.
    await sleep(1.2 * keptLeaseMs)
    expect(lines(other, 'begin')).toBe(0)
    await kill(stuck)
    await says(other, 'outcome done')
    const [job] = await place.database.read((db) => db.selectFrom('jobs').selectAll().execute())
    expect(job).toMatchObject({ outcome: 'done', owner: '' })
    expect(Number(job?.attempts)).toBe(2)
    expect(await numbers('job_effects')).toEqual([1, 1])
  })
})
