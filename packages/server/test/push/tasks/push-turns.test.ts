/**
 * A task to very many devices beside others and beside gateways that do not answer, on both
 * databases (decision 030).
 */
import { once } from 'node:events'
import { pushDeliveryState, userStatus } from '@hermod/protocol'
import { anyBackend, isFullRun, type Session, waitFor } from '@hermod/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addCrowd } from '../../support/push/push-crowd.js'
import { type PushPlace, startPushWorld } from '../../support/push/push-world.js'

/** Of 50 pages in a full run, else of 17. */
const crowdSize = isFullRun ? 12_000 : 4_000
const beginsAfterMs = 60_000
/** Several batches. */
const fewUsers = 1_000

/** More pages than a node sends at once: the first one, and eight of those that follow. */
const pages = 12
const pagesAtOnce = 9
const usersPerPage = 240
/** More than would be written while the gateway is down. */
const pagesOfDownGateway = 25

for (const backend of anyBackend()) {
  describe(`a push to everybody on ${backend.name}`, { timeout: 300_000 }, () => {
    let place: PushPlace
    /** Aborted: the gateway answers about tokens that are held. */
    let answering: AbortController
    const answer = () => answering.abort()

    beforeEach(async () => {
      answering = new AbortController()
      const { signal } = answering
      place = await startPushWorld(backend, ['vendor_h'], {
        beforeAnswer: ({ body }) =>
          body.includes('held') && !signal.aborted ? once(signal, 'abort') : undefined,
      })
    })
    afterEach(async () => {
      answer()
      await place?.[Symbol.asyncDispose]()
    })

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
      const show_begin_time = Math.ceil((watched.clock.now() + beginsAfterMs) / 1000)
      const message = { title: 'News', body: 'x', show_begin_time }
      const toAll = await world.notify({ audience: 'all', message })
      const toOne = await world.notify({ audience: { user_id: [user.id] }, message })
      watched.clock.set(show_begin_time * 1000)
      await world.isResolved(toAll)
      await world.isResolved(toOne)
      const resolvedAt = async (taskId: number) =>
        Number(
          (await watched.sql.run(`select updated_at from push_tasks where task_id = ${taskId}`))[0]
            ?.updated_at,
        )
      expect(await resolvedAt(toOne)).toBeLessThan(await resolvedAt(toAll))
      await waitFor(async () => (await world.progress(toAll)).finished === crowdSize + 1, {
        what: 'all devices of the crowd',
        timeoutMs: 30_000,
      })
      expect((await world.progress(toAll)).devices).toBe(crowdSize + 1)
    })

    describe('while the gateway does not answer', () => {
      const size = pages * usersPerPage
      const reached = pagesAtOnce * usersPerPage
      const waiting = 'The push has not reached the user yet.'
      const message = { title: 'News', body: 'x' }
      /** The IDs of users follow those of the crowd, so that this user is in the last page. */
      let user: Session

      beforeEach(async () => {
        const { world, watched } = place
        user = await world.user({ vendor_h: 'of-one' })
        await addCrowd(watched.sql, {
          like: user.id,
          size,
          notifier: 'vendor_h',
          status: userStatus.normal,
          token: 'held',
        })
      })

      const traced = async (taskId: number) =>
        (await place.world.trace({ task_id: taskId }, user.id)).devices[0].text

      const toEverybody = async (times: object = {}) => {
        const { world } = place
        const taskId = await world.notify({ audience: 'all', message: { ...message, ...times } })
        await world.reaches(taskId, { vendor_h_target: reached })
        expect(await traced(taskId)).toBe(waiting)
        return taskId
      }

      it('waits for its turn, and a smaller one does not wait for it', async () => {
        const { world, watched } = place
        const toAll = await toEverybody()
        const toOne = await world.notify({ audience: { user_id: [user.id] }, message })
        await world.hasEnded(toOne)
        expect(await traced(toAll)).toBe(waiting)

        const query = { app_id: watched.server.appId, task_id: toAll }
        await world.operator.succeed('POST', '/operator/v1/push/task/cancel', { body: query })
        expect(await traced(toAll)).toBe('The push was cancelled before it reached the user.')
        answer()
        await waitFor(async () => (await world.progress(toAll)).finished === reached, {
          what: 'the end of the push to all',
          timeoutMs: 60_000,
        })
        expect(await world.progress(toAll)).toMatchObject({ devices: reached })
        expect(await world.counts(toAll)).toMatchObject({ vendor_h_target: reached })
        expect(await traced(toAll)).toBe('The push was cancelled before it reached the user.')
      })

      it('goes by what users have set and bound when their turn comes', async () => {
        const { world } = place
        const toAll = await toEverybody()
        const body = { user_id: user.id, no_push: 1 }
        await world.api.admin({ userId: user.id }).succeed('POST', '/user/settings', { body })
        answer()
        await world.hasEnded(toAll)
        expect(await world.counts(toAll)).toEqual({ vendor_h_target: size, vendor_h_sent: size })
        expect(await world.progress(toAll)).toMatchObject({ devices: size + 1 })
        const { devices } = await world.trace({ task_id: toAll }, user.id)
        expect(devices).toMatchObject([{ delivery: { state: pushDeliveryState.suppressed } }])
      })

      it('is not sent to whoever comes after its time is over', async () => {
        const { watched, world } = place
        const show_end_time = Math.ceil(watched.clock.now() / 1_000) + 60
        const toAll = await toEverybody({ show_end_time })
        watched.clock.set(show_end_time * 1_000)
        await waitFor(
          async () => (await traced(toAll)) === 'The push expired before it reached the user.',
          { what: 'the end of its time', timeoutMs: 60_000 },
        )
        answer()
        await world.hasEnded(toAll)
        const { vendor_h_sent: sent, ...others } = await world.counts(toAll)
        expect(others).toEqual({ vendor_h_target: reached })
        expect(sent ?? 0).toBeLessThanOrEqual(reached)
        expect(await world.progress(toAll)).toMatchObject({ devices: reached })
      })
    })

    it('has few pages written while its gateway is down', async () => {
      const { simulator, watched, world } = place
      const user = await world.user({ vendor_h: 'of-one' })
      await addCrowd(watched.sql, {
        like: user.id,
        size: pagesOfDownGateway * usersPerPage,
        notifier: 'vendor_h',
        status: userStatus.normal,
      })
      await simulator[Symbol.asyncDispose]()
      const taskId = await world.notify({ audience: 'all', message: { title: 'News', body: 'x' } })
      const nextPage = async () =>
        (
          await watched.sql.run(
            `select run_at from jobs where kind = 'push.send_audience' and outcome = '' and owner = ''
              and run_at > ${Date.now() + 5_000} and payload like '%"page"%'`,
          )
        )[0]
      await waitFor(nextPage, { what: 'a page that waits for the gateway', timeoutMs: 60_000 })
      const [found] = await watched.sql.run(
        `select count(distinct batch_id) as pages from push_deliveries where task_id = ${taskId}`,
      )
      expect(Number(found?.pages)).toBeLessThan(20)
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
