/** That a task to very many does not keep the others waiting, on both databases (decision 030). */
import { stopSharedCluster, testBackends, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type PushPlace, startPushWorld } from './support/push-world.js'

/** Of three turns. */
const crowdSize = 15_000
const firstOfCrowd = 1_000_000
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
      await makeCrowd(user.id)
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

    /** Users that nothing is sent to, since they are disabled, with a device each. */
    async function makeCrowd(like: number): Promise<void> {
      const { sql } = place.watched
      const [row = {}] = await sql.run(`select * from users where user_id = ${like}`)
      const changes: Readonly<Record<string, string>> = {
        user_id: `${firstOfCrowd} + n.i`,
        username: "'crowd_' || n.i",
        username_key: "'crowd_' || n.i",
        status: '1',
      }
      const numbers = `with recursive n(i) as (select 1 union all select i + 1 from n where i < ${crowdSize})`
      const names = Object.keys(row)
      await sql.run(`${numbers} insert into users (${names})
        select ${names.map((name) => changes[name] ?? name)} from users, n where user_id = ${like}`)
      await sql.run(`${numbers} insert into push_bindings
        (app_id, user_id, device_sn, notifier_name, device_token, bound_at, paused_until)
        select u.app_id, ${firstOfCrowd} + n.i, 1, 'vendor_h', 'of-crowd-' || n.i, 1, 0
        from users u, n where u.user_id = ${like}`)
    }
  })
}
