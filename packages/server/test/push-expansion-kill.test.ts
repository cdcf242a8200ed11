/** Nodes that are killed while they look through an audience: everybody has one delivery, and it is sent (decision 030). */
import { pushTaskState, userStatus } from '@hermod/protocol'
import { type Backend, stopSharedCluster, testBackends, waitFor } from '@hermod/testkit'
import { PushSimulator } from '@hermod/testkit/push'
import { afterAll, describe, expect, it } from 'vitest'
import { addCrowd } from './support/push-crowd.js'
import { PushLedger } from './support/push-ledger.js'
import { PushNodes } from './support/push-nodes.js'
import { PushWorld } from './support/push-world.js'

/** Of many pages, which end amid users as well as between them. */
const crowd = { size: 5_400, oneWithTwoDevicesIn: 6 }
const crowdDevices = 6_300
const killsAmid = 3
const cutsAmid = 3
const patienceMs = 240_000

afterAll(stopSharedCluster)

const startNodes = (backend: Backend) =>
  PushNodes.start({ backend, env: { HERMOD_PUBLIC_URL: 'http://push.example' }, random: () => 0 })

/** @returns the ID of a push to a crowd that has begun */
async function pushToCrowd(nodes: PushNodes, simulator: PushSimulator): Promise<number> {
  const world = new PushWorld(await nodes.running(), simulator)
  await world.setCertificates(['vendor_h'])
  const { id } = await world.user({ vendor_h: 'of-one' })
  await addCrowd(nodes.sql, {
    like: id,
    ...crowd,
    notifier: 'vendor_h',
    status: userStatus.normal,
  })
  return world.notify({ audience: 'all', message: { title: 'News', body: 'x' } })
}

/** How far a push is. */
async function progressOf({ sql }: PushNodes, taskId: number) {
  const [task] = await sql.run(
    `select state, expanded_to, open_batch_id, finished from push_tasks where task_id = ${taskId}`,
  )
  return {
    isOver: Number(task?.state) === pushTaskState.expanded,
    expandedTo: Number(task?.expanded_to),
    isAmidBatch: Number(task?.open_batch_id) !== 0,
    finished: Number(task?.finished),
  }
}
type Progress = Awaited<ReturnType<typeof progressOf>>

/** @returns false when it is over before */
async function reaches(
  nodes: PushNodes,
  taskId: number,
  isThere: (progress: Progress) => boolean,
): Promise<boolean> {
  const wait = { what: 'the middle of the audience', timeoutMs: patienceMs, everyMs: 1 }
  const reached = await waitFor(async () => {
    const progress = await progressOf(nodes, taskId)
    return progress.isOver || isThere(progress) ? progress : undefined
  }, wait)
  return !reached.isOver
}

async function requireAllSent(
  nodes: PushNodes,
  simulator: PushSimulator,
  taskId: number,
): Promise<void> {
  const everybody = crowdDevices + 1
  const ask = <T>(of: (world: PushWorld) => Promise<T>) =>
    nodes.call((node) => of(new PushWorld(node, simulator)))
  // Not by the service, which may still find a connection that was cut when it is asked.
  await waitFor(async () => (await progressOf(nodes, taskId)).finished === everybody, {
    what: 'all devices of the crowd',
    timeoutMs: patienceMs,
  })
  expect(await ask((each) => each.progress(taskId))).toMatchObject({ devices: everybody })
  expect(await ask((each) => each.counts(taskId))).toEqual({
    vendor_h_target: everybody,
    vendor_h_sent: everybody,
  })
  const ledger = new PushLedger()
  ledger.collect(simulator)
  expect(ledger.taken(taskId)).toHaveLength(everybody)
}

for (const backend of testBackends()) {
  describe(`an audience on ${backend.name}`, { timeout: 300_000 }, () => {
    it('is sent to as a whole when the service is killed amid it', async () => {
      await using simulator = await PushSimulator.start({})
      await using nodes = await startNodes(backend)
      const taskId = await pushToCrowd(nodes, simulator)
      // With SQLite several transactions fill a batch, with PostgreSQL each fills one.
      const isAmid = ({ isOver, isAmidBatch, expandedTo }: Progress) =>
        !isOver && (isAmidBatch || (backend.name === 'postgres' && expandedTo > 0))
      let kills = 0
      while (kills < killsAmid && (await reaches(nodes, taskId, isAmid))) {
        const restart = nodes.kill()
        if (isAmid(await progressOf(nodes, taskId))) kills++
        await restart?.()
      }
      expect(kills).toBeGreaterThan(0)
      await requireAllSent(nodes, simulator, taskId)
    })

    if (backend.name === 'sqlite') return
    it('is sent to as a whole when the connections of the service are cut amid it', async () => {
      await using simulator = await PushSimulator.start({})
      await using nodes = await startNodes(backend)
      const taskId = await pushToCrowd(nodes, simulator)
      let cuts = 0
      let cutAt = 0
      while (
        cuts < cutsAmid &&
        (await reaches(nodes, taskId, ({ expandedTo }) => expandedTo > cutAt))
      ) {
        await nodes.sql.run(`select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()`)
        const { isOver, expandedTo } = await progressOf(nodes, taskId)
        cutAt = expandedTo
        if (!isOver) cuts++
      }
      expect(cuts).toBeGreaterThan(0)
      await requireAllSent(nodes, simulator, taskId)
    })
  })
}
