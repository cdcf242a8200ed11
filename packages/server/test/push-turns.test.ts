/** That a task to very many does not keep the others waiting, on both databases (decision 030). */
import { userStatus } from '@hermod/protocol'
import { stopSharedCluster, testBackends, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addCrowd } from './support/push-crowd.js'
import { type PushPlace, startPushWorld } from './support/push-world.js'

/** Of three turns. */
const crowdSize = 15_000
const beginsAfterMs = 3_000

afterAll(stopSharedCluster)

for (const backend of testBackends()) {
  describe(`a push to everybody on ${backend.name}`, () => {
    let place: PushPlace

    beforeAll(async () => {
      place = await startPushWorld(backend, ['vendor_h'])
    })
    afterAll(() => place?.[Symbol.asyncDispose]())

    it('is not done before a smaller one that begins with it, and counts all of its devices', async () => {
      const { watched, world } = place
      const user = await world.user({ vendor_h: 'of-one' })
      // Nothing is sent to them.
      await addCrowd(watched.sql, {
        like: user.id,
        size: crowdSize,
        notifier: 'vendor_h',
        status: userStatus.disabled,
      })
      const show_begin_time = Math.ceil((Date.now() + beginsAfterMs) / 1000)
      const message = { title: 'News', body: 'x', show_begin_time }
      const toAll = await world.notify({ audience: 'all', message })
      const toOne = await world.notify({ audience: { user_id: [user.id] }, message })
      await world.isExpanded(toAll)
      await world.isExpanded(toOne)
      const expandedAt = async (taskId: number) =>
        Number(
          (await watched.sql.run(`select updated_at from push_tasks where task_id = ${taskId}`))[0]
            ?.updated_at,
        )
      expect(await expandedAt(toOne)).toBeLessThan(await expandedAt(toAll))
      await waitFor(async () => (await world.progress(toAll)).finished === crowdSize + 1, {
        what: 'all devices of the crowd',
        timeoutMs: 30_000,
      })
      expect((await world.progress(toAll)).devices).toBe(crowdSize + 1)
    })
  })
}
