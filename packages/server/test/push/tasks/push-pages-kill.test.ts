/**
 * Nodes that are killed while they resolve an audience: each device has one delivery, and it is
 * sent (decision 030).
 */
import { pushTaskState, userStatus } from '@hermod/protocol'
import { PushSimulator } from '@hermod/push-simulator'
import { anyBackend, type Backend, isFullRun, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { addCrowd } from '../../support/push/push-crowd.js'
import { PushLedger } from '../../support/push/push-ledger.js'
import { PushNodes } from '../../support/push/push-nodes.js'
import { PushWorld } from '../../support/push/push-world.js'

/** Of many pages, which end with users of one device and of two. */
const crowd = { size: isFullRun ? 5_400 : 3_600, oneWithTwoDevicesIn: 6 }
const crowdDevices = crowd.size + crowd.size / crowd.oneWithTwoDevicesIn
const interruptions = isFullRun ? 5 : 2
const leastInterruptions = 2
const patienceMs = 240_000

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

/** The progress of a push. */
async function progressOf({ sql }: PushNodes, taskId: number) {
  const [task] = await sql.run(
    `select state, position, finished from push_tasks where task_id = ${taskId}`,
  )
  return {
    isResolved: Number(task?.state) === pushTaskState.expanded,
    position: Number(task?.position),
    finished: Number(task?.finished),
  }
}

/** Interrupts the push while its pages are written, each time further on. @returns how often */
async function interrupt(
  nodes: PushNodes,
  taskId: number,
  by: () => Promise<(() => Promise<void>) | null>,
): Promise<number> {
  let count = 0
  let last = 0
  while (count < interruptions) {
    const reached = await waitFor(
      async () => {
        const progress = await progressOf(nodes, taskId)
        return progress.isResolved || progress.position > last ? progress : undefined
      },
      { what: 'the middle of the push', timeoutMs: patienceMs, everyMs: 1 },
    )
    if (reached.isResolved) return count
    const goOn = await by()
    const { isResolved, position } = await progressOf(nodes, taskId)
    last = position
    if (!isResolved) count++
    await goOn?.()
  }
  return count
}

/** @param ledger has what was taken before the simulator forgot it */
async function requireAllSent(
  nodes: PushNodes,
  simulator: PushSimulator,
  { taskId, ledger }: { readonly taskId: number; readonly ledger: PushLedger },
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
  ledger.collect(simulator)
  expect(ledger.taken(taskId)).toHaveLength(everybody)
}

for (const backend of anyBackend('durable')) {
  describe(`an audience on ${backend.name}`, { timeout: 300_000 }, () => {
    it('is sent to as a whole when the service is killed amid it', async () => {
      await using simulator = await PushSimulator.start({})
      await using nodes = await startNodes(backend)
      const taskId = await pushToCrowd(nodes, simulator)
      const ledger = new PushLedger()
      const kill = async () => {
        ledger.collect(simulator)
        return nodes.kill()
      }
      const count = await interrupt(nodes, taskId, kill)
      expect(count).toBeGreaterThanOrEqual(leastInterruptions)
      await requireAllSent(nodes, simulator, { taskId, ledger })
    })

    if (backend.name === 'sqlite') return
    it('is sent to as a whole when the connections of the service are cut amid it', async () => {
      await using simulator = await PushSimulator.start({})
      await using nodes = await startNodes(backend)
      const taskId = await pushToCrowd(nodes, simulator)
      const ledger = new PushLedger()
      const cut = async () => {
        ledger.collect(simulator)
        await nodes.sql.run(`select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid()`)
        return null
      }
      const count = await interrupt(nodes, taskId, cut)
      expect(count).toBeGreaterThanOrEqual(leastInterruptions)
      await requireAllSent(nodes, simulator, { taskId, ledger })
    })
  })
}
