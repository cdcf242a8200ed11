/** Nodes that are killed while they look through an audience: everybody has one delivery, and it is sent (decision 030). */
import { pushTaskState, userStatus } from '@hermod/protocol'
import { stopSharedCluster, testBackends, waitFor } from '@hermod/testkit'
import { PushSimulator } from '@hermod/testkit/push'
import { afterAll, describe, expect, it } from 'vitest'
import { addCrowd } from './support/push-crowd.js'
import { PushLedger } from './support/push-ledger.js'
import { PushNodes } from './support/push-nodes.js'
import { PushWorld } from './support/push-world.js'

/** Of many pages, which end amid users as well as between them. */
const crowd = { size: 5_400, oneWithTwoDevicesIn: 6 }
const crowdDevices = 6_300
const killsAmidBatches = 3
const patienceMs = 240_000

afterAll(stopSharedCluster)

for (const backend of testBackends()) {
  describe(`an audience on ${backend.name}`, () => {
    it('is sent to as a whole when the service is killed amid it', {
      timeout: 300_000,
    }, async () => {
      await using simulator = await PushSimulator.start({})
      await using nodes = await PushNodes.start({
        backend,
        env: { HERMOD_PUBLIC_URL: 'http://push.example' },
        random: () => 0,
      })
      const world = new PushWorld(await nodes.running(), simulator)
      await world.setCertificates(['vendor_h'])
      const { id } = await world.user({ vendor_h: 'of-one' })
      await addCrowd(nodes.sql, {
        like: id,
        ...crowd,
        notifier: 'vendor_h',
        status: userStatus.normal,
      })
      const taskId = await world.notify({ audience: 'all', message: { title: 'News', body: 'x' } })
      const isAmid = async () => {
        const [task] = await nodes.sql.run(
          `select state, open_batch_id from push_tasks where task_id = ${taskId}`,
        )
        if (Number(task?.open_batch_id) !== 0) return true
        return Number(task?.state) === pushTaskState.expanded ? false : undefined
      }
      let amid = 0
      while (amid < killsAmidBatches) {
        const wait = { what: 'the middle of the audience', timeoutMs: patienceMs, everyMs: 1 }
        const { go } = await waitFor(async () => {
          const go = await isAmid()
          return go === undefined ? undefined : { go }
        }, wait)
        if (!go) break
        const restart = nodes.kill()
        if (await isAmid()) amid++
        await restart?.()
      }
      expect(amid).toBeGreaterThan(0)
      const everybody = crowdDevices + 1
      const ask = <T>(of: (world: PushWorld) => Promise<T>) =>
        nodes.call((node) => of(new PushWorld(node, simulator)))
      await waitFor(
        async () => (await ask((each) => each.progress(taskId))).finished === everybody,
        {
          what: 'all devices of the crowd',
          timeoutMs: patienceMs,
        },
      )
      expect(await ask((each) => each.progress(taskId))).toMatchObject({ devices: everybody })
      expect(await ask((each) => each.counts(taskId))).toEqual({
        vendor_h_target: everybody,
        vendor_h_sent: everybody,
      })
      const ledger = new PushLedger()
      ledger.collect(simulator)
      expect(ledger.taken(taskId)).toHaveLength(everybody)
    })
  })
}
