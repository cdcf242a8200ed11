/** That a task to very many does not keep others waiting, nor waits for them for ever, on both databases (decision 030). */
import { userStatus } from '@hermod/protocol'
import { stopSharedCluster, testBackends, waitFor } from '@hermod/testkit'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addCrowd, idInCrowd } from './support/push-crowd.js'
import { type PushPlace, startPushWorld } from './support/push-world.js'
import type { Sql } from './support/sql.js'

/** Of three turns. */
const crowdSize = 15_000
const beginsAfterMs = 3_000
/** Several batches. */
const fewUsers = 1_000

/** More than are sent at once, which wait until the gateway could have answered. */
const slowBatches = 12
const usersPerBatch = 240

afterAll(stopSharedCluster)

/** Gives a user of a crowd a device as another user has it. */
async function copyDevice(sql: Sql, from: number, to: number): Promise<void> {
  const [row = {}] = await sql.run(`select * from devices where user_id = ${from}`)
  const names = Object.keys(row)
  const values = names.map((name) => (name === 'user_id' ? String(to) : name))
  await sql.run(
    `insert into devices (${names}) select ${values} from devices where user_id = ${from}`,
  )
}

for (const backend of testBackends()) {
  describe(`a push to everybody on ${backend.name}`, { timeout: 300_000 }, () => {
    let place: PushPlace

    beforeEach(async () => {
      place = await startPushWorld(backend, ['vendor_h'])
    })
    afterEach(() => place?.[Symbol.asyncDispose]())

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

    it('waits for its turn while the gateway is slow, and a smaller one does not wait for it', async () => {
      const { watched, world } = place
      const user = await world.user({ vendor_h: 'of-one' })
      const size = slowBatches * usersPerBatch
      await addCrowd(watched.sql, {
        like: user.id,
        size,
        notifier: 'vendor_h',
        status: userStatus.normal,
        token: 'slow',
      })
      const last = idInCrowd(size)
      await copyDevice(watched.sql, user.id, last)
      const message = { title: 'News', body: 'x' }
      const toAll = await world.notify({ audience: 'all', message })
      await world.isExpanded(toAll)
      const everybody = { vendor_h_target: size + 1 }
      expect(await world.counts(toAll)).toMatchObject(everybody)
      const ofLast = async () => (await world.trace({ task_id: toAll }, last)).devices[0].text
      const waiting = 'The push has not come to the user yet.'
      expect(await ofLast()).toBe(waiting)

      const toOne = await world.notify({ audience: { user_id: [user.id] }, message })
      await waitFor(async () => (await world.progress(toOne)).finished === 1, {
        what: 'the push to one',
        timeoutMs: 60_000,
      })
      expect(await ofLast()).toBe(waiting)

      const query = { app_id: watched.server.appId, task_id: toAll }
      await world.operator.succeed('POST', '/operator/v1/push/task/cancel', { body: query })
      expect(await ofLast()).toBe('The push was cancelled before it came to the user.')
      await waitFor(async () => (await world.progress(toAll)).finished === size + 1, {
        what: 'the end of the push to all',
        timeoutMs: 240_000,
      })
      expect(await world.progress(toAll)).toMatchObject({ devices: size + 1 })
      expect(await world.counts(toAll)).toMatchObject(everybody)
    })

    it('is sent to all of them also while messages are sent all the while', async () => {
      const { watched, world } = place
      const receiver = await world.user({ vendor_h: 'of-one' })
      await addCrowd(watched.sql, {
        like: receiver.id,
        size: fewUsers,
        notifier: 'vendor_h',
        status: userStatus.normal,
      })
      const sender = await world.user()
      const over = new AbortController()
      const sending = async () => {
        let sent = 0
        for (; !over.signal.aborted; sent++)
          await sender.api.succeed('POST', '/message/send', {
            body: { type: 1, content_type: 0, content: 'hi', targets: [receiver.id] },
          })
        return sent
      }
      const messages = sending()
      const taskId = await world.notify({ audience: 'all', message: { title: 'News', body: 'x' } })
      await waitFor(async () => (await world.progress(taskId)).finished === fewUsers + 1, {
        what: 'all devices of the task',
        timeoutMs: 60_000,
      })
      over.abort()
      expect(await messages).toBeGreaterThan(0)
      expect(await world.counts(taskId)).toEqual({
        vendor_h_target: fewUsers + 1,
        vendor_h_sent: fewUsers + 1,
      })
    })
  })
}
