/** Users who are deleted while a page of an audience is written get no delivery (decision 030). */
import { type LoginSession, testBackends, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { countOfWaiting, openSql } from '../support/database/sql.js'
import { integrityFaults } from '../support/messaging/messaging.js'
import { type PushPlace, startPushWorld } from '../support/push/push-world.js'

const beginsAfterMs = 60_000
/** Nearly a whole part of a page. */
const many = 45

// The embedded database's one writer reads what it decides by when nothing else is under way.
for (const backend of testBackends().filter(({ name }) => name === 'postgres')) {
  describe(`a user who is deleted between the reading of a page and its transaction on ${backend.name}`, {
    timeout: 120_000,
  }, () => {
    let place: PushPlace
    let crowd: readonly LoginSession[]
    beforeAll(async () => {
      place = await startPushWorld(backend, ['vendor_h'])
      const { world } = place
      crowd = await Promise.all(
        Array.from({ length: many }, (_, index) => world.user({ vendor_h: `of-${index}` })),
      )
    })
    afterAll(() => place?.[Symbol.asyncDispose]())

    const counts = { message: { title: 'News', body: 'x' } }
    const doesNot = { message: { type: 'cmd', ext: { do: 'sync' } } }
    it.each([
      { what: 'a push to two that counts in badges', others: 1, ...counts },
      { what: 'a push to two that does not', others: 1, ...doesNot },
      { what: 'a push to many that counts in badges', others: many, ...counts },
      { what: 'a push to many that does not', others: many, ...doesNot },
    ])('gets no delivery of $what', async ({ message, others }) => {
      const { watched, world } = place
      const ids = crowd.slice(0, others).map(({ id }) => id)
      const leaves = await world.user({ vendor_h: 'of-leaver' })
      const show_begin_time = Math.ceil((watched.clock.now() + beginsAfterMs) / 1000)
      const taskId = await world.notify({
        audience: { user_id: [...ids, leaves.id] },
        message: { ...message, show_begin_time },
      })
      await using holder = await openSql(watched.place)
      await holder.run('begin')
      await holder.run(`select 1 from push_tasks where task_id = ${taskId} for update`)
      watched.clock.set(show_begin_time * 1000)
      await waitFor(async () => Number((await watched.sql.run(countOfWaiting))[0]?.count) > 1, {
        what: 'the page and the estimate to wait for the task',
        timeoutMs: 60_000,
      })
      await world.server.api.admin({ userId: leaves.id }).succeed('POST', '/user/delete')
      await holder.run('commit')
      await world.reaches(taskId, { vendor_h_target: others, vendor_h_sent: others })
      expect((await world.progress(taskId)).devices).toBe(others)
      const rows = await watched.sql.run(
        `select user_id from push_deliveries where task_id = ${taskId}`,
      )
      const byNumber = (a: number, b: number) => a - b
      expect(rows.map(({ user_id }) => Number(user_id)).sort(byNumber)).toEqual(ids.sort(byNumber))
      expect(await integrityFaults(watched.server)).toEqual([])
    })
  })
}
