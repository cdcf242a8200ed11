/** What operators see of push tasks and do to them, and how long these are kept. */
import { join } from 'node:path'
import { pushTaskState } from '@hermod/protocol'
import { anyBackend, type Json, type Session, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Database } from '../../../dist/db/database.js'
import { postgresDialect } from '../../../dist/db/dialect/postgres.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'
import { DeliveryStore } from '../../../dist/domain/push/deliveries/delivery-store.js'
import { PushPurge } from '../../../dist/domain/push/push-purge.js'
import { TaskStore } from '../../../dist/domain/push/tasks/task-store.js'
import { answerCode } from '../../support/answer-codes.js'
import type { DataPlace } from '../../support/database/sql.js'
import { callHermod } from '../../support/hermod-command.js'
import type { InProcessServer } from '../../support/in-process-server.js'
import { type PushPlace, type PushWorld, startPushWorld } from '../../support/push/push-world.js'

const message = { title: 'News', body: 'There is something new.' }
const dayMs = 86_400_000
let names = 0

function token(prefix = ''): string {
  return `${prefix}device-${++names}`
}

for (const backend of anyBackend()) {
  describe(`push tasks of operators on ${backend.name}`, () => {
    let place: PushPlace
    let watched: InProcessServer
    let world: PushWorld

    beforeAll(async () => {
      // Time for the calls of a test on a slow machine, before what was put off is tried again.
      const options = { retryAfterSeconds: 4 }
      place = await startPushWorld(backend, ['vendor_n', 'cloud_gw'], options)
      ;({ watched, world } = place)
    })
    afterAll(() => place?.[Symbol.asyncDispose]())

    const appId = () => watched.server.appId
    const toUser = ({ id }: Session) => ({ user_id: [id] })
    const cancel = async (taskId: number) =>
      (
        await world.operator.succeed('POST', '/operator/v1/push/task/cancel', {
          body: { app_id: appId(), task_id: taskId },
        })
      ).data

    async function sent(): Promise<{ taskId: number; user: Session }> {
      const user = await world.user({ vendor_n: token() })
      const taskId = await world.notify({ audience: toUser(user), message })
      await world.reaches(taskId, { vendor_n_target: 1, vendor_n_sent: 1 })
      return { taskId, user }
    }

    /** One that is held back for an hour. */
    async function held(): Promise<{ taskId: number; user: Session }> {
      const user = await world.user({ vendor_n: token() })
      const begins = Math.floor(Date.now() / 1_000) + 3_600
      const taskId = await world.notify({
        audience: toUser(user),
        message: { ...message, show_begin_time: begins },
      })
      return { taskId, user }
    }

    it('are listed, the newest first, by pages that leave out none', async () => {
      const made: number[] = []
      for (let count = 0; count < 5; count++) made.push((await held()).taskId)
      const found: number[] = []
      let cursor = ''
      do {
        const query = { app_id: appId(), limit: 2, cursor }
        const { data } = await world.operator.succeed('GET', '/operator/v1/push/task/list', {
          query,
        })
        expect(data.tasks.length).toBeLessThanOrEqual(2)
        found.push(...data.tasks.map(({ task_id }: Json) => task_id))
        cursor = data.next_cursor
      } while (cursor !== '')
      expect(found.slice(0, 5)).toEqual(made.toReversed())
      expect(found.toSorted((a, b) => b - a)).toEqual(found)
      const other = await world.operator.call('GET', '/operator/v1/push/task/list', {
        query: { app_id: 'nowhere' },
      })
      expect(other.code).toBe(answerCode.app_not_found)
    })

    it('show how far they are, and what they count', async () => {
      const { taskId, user } = await sent()
      expect(await world.progress(taskId)).toMatchObject({
        task_id: taskId,
        msg_id: 0,
        state: pushTaskState.expanded,
        audience: `the users ${user.id}`,
        estimated_users: 1,
        devices: 1,
        finished: 1,
        counts: [{ channel: 'vendor_n', target: 1, sent: 1, received: 0 }],
      })
      const unknown = await world.operator.call('GET', '/operator/v1/push/task/get', {
        query: { app_id: appId(), task_id: taskId + 1 },
      })
      expect(unknown.code).toBe(answerCode.push_task_not_found)
    })

    it('that are cancelled send nothing, however often they are cancelled', async () => {
      const { taskId, user } = await held()
      for (let count = 0; count < 2; count++)
        expect((await cancel(taskId)).state).toBe(pushTaskState.cancelled)
      const trace = await world.trace({ task_id: taskId }, user.id)
      expect(trace.devices[0].text).toBe('The push was cancelled before it reached the user.')
      expect(await world.counts(taskId)).toEqual({})
    })

    it('that are cancelled end what waits for another try', async () => {
      // Put off for the seconds that the gateway asks for.
      const user = await world.user({ cloud_gw: token('throttle-') })
      const taskId = await world.notify({ audience: toUser(user), message })
      await waitFor(
        async () => {
          const { devices } = await world.trace({ task_id: taskId }, user.id)
          return devices[0]?.delivery?.attempts === 1
        },
        { what: 'the first try', timeoutMs: 30_000, everyMs: 5 },
      )
      const { state, finished } = await cancel(taskId)
      expect([state, finished]).toEqual([pushTaskState.cancelled, 0])
      await waitFor(async () => (await world.progress(taskId)).finished === 1, {
        what: 'the end of the delivery',
        timeoutMs: 60_000,
      })
      const trace = await world.trace({ task_id: taskId }, user.id)
      expect(trace.devices[0].delivery.steps.at(-1).text).toBe('The push was cancelled.')
      expect(await world.counts(taskId)).toEqual({ cloud_gw_target: 1 })
    })

    it('that have come to their end stay what they are', async () => {
      const { taskId } = await sent()
      expect(await cancel(taskId)).toMatchObject({ state: pushTaskState.expanded, finished: 1 })
    })

    it('are shown, explained and cancelled by the command', async () => {
      const { taskId, user } = await sent()
      const run = (...args: string[]) =>
        callHermod(['push', ...args, '--app', appId()], watched.settings)
      const list = await run('list', '--limit', '3')
      expect(list.out).toContain(String(taskId))
      expect(list.out).toContain('There are more: --after')
      const show = await run('show', String(taskId))
      expect(show.out).toMatch(/state +expanded/)
      expect(show.out).toMatch(/estimated_users +1/)
      expect(show.out).toMatch(/vendor_n +1 +1 +0/)
      const trace = await run('trace', String(user.id), '--task', String(taskId))
      expect(trace.out).toContain(`Push ${taskId}, for the users ${user.id}: expanded`)
      expect(trace.out).toContain('Z, for about 1 user\n')
      expect(trace.out).toContain('  Device 1: The gateway of vendor_n accepted it')
      expect(trace.out).toMatch(/ {4}20\S+Z {2}The gateway accepted it\./)
      const json = await run('trace', String(user.id), '--task', String(taskId), '--json')
      expect(JSON.parse(json.out).devices[0].delivery.channel).toBe('vendor_n')
      const waiting = await held()
      const cancelled = await run('cancel', String(waiting.taskId))
      expect(cancelled.out).toMatch(/state +cancelled/)
      const bad = await run('trace', String(user.id))
      expect([bad.code, bad.err]).toEqual([1, 'hermod: give either --task or --message\n'])
    })
  })

  describe(`how long pushes are kept on ${backend.name}`, () => {
    it('deliveries go after days, tasks and their requests after months, and counts with the tasks', async () => {
      await using place = await startPushWorld(backend, ['vendor_n'])
      const { watched, world } = place
      const { sql } = watched
      const user = await world.user({ vendor_n: token() })
      const requests: Json[] = []
      const push = async () => {
        const setting = { request_id: `request ${++names}` }
        const body = { audience: { user_id: [user.id] }, setting, message }
        requests.push(body)
        const taskId = await world.notify(body)
        await world.reaches(taskId, { vendor_n_target: 1, vendor_n_sent: 1 })
        return taskId
      }
      const [first, late, last] = [await push(), await push(), await push()]
      await sql.run(manyMore(first))
      // It was held back for five days.
      await sql.run(
        `update push_tasks set begins_at = begins_at + ${5 * dayMs}, expires_at = expires_at + ${5 * dayMs} where task_id = ${late}`,
      )
      const tasksOf = async (table: string) =>
        (await sql.run(`select distinct task_id from ${table} order by task_id`)).map(
          ({ task_id }) => task_id,
        )
      const all = [first, late, last]
      const expected: [days: number, deliveries: number[], tasks: number[]][] = [
        [6, all, all],
        [8, [late], all],
        [13, [], all],
        [89, [], all],
        [91, [], []],
      ]
      await watched.server.stop()
      for (const [days, deliveries, tasks] of expected) {
        await purgeLater(watched.place, days)
        expect(await tasksOf('push_deliveries'), `${days} days`).toEqual(deliveries)
        expect(await tasksOf('push_tasks'), `${days} days`).toEqual(tasks)
        expect(await tasksOf('push_task_counts'), `${days} days`).toEqual(tasks)
      }
      await watched.startAgain()
      expect(await world.notify(requests[0])).toBeGreaterThan(last)
    })
  })
}

/** Gives a task 2,500 deliveries besides, which is more than are deleted at once. */
function manyMore(taskId: number): string {
  const others =
    'task_id, device_sn, batch_id, state, channel, certificate_id, token_hash, message_id, steps'
  return `insert into push_deliveries (app_id, user_id, ${others})
    with recursive n (i) as (select 1 union all select i + 1 from n where i < 2500)
    select app_id, user_id + i, ${others} from push_deliveries cross join n where task_id = ${taskId}`
}

/** Does what the maintenance task does, so many days from now. */
async function purgeLater({ dataDir, databaseUrl }: DataPlace, days: number): Promise<void> {
  await using database = new Database(
    databaseUrl === undefined
      ? sqliteDialect(join(dataDir, 'hermod.db'))
      : postgresDialect({ url: databaseUrl, poolSize: 2, onError: () => {} }),
  )
  const purge = new PushPurge({
    database,
    apps: { list: async () => [{ appId: 'test' }] },
    deliveries: new DeliveryStore(database),
    tasks: new TaskStore(database),
    traceMs: 7 * dayMs,
    taskMs: 90 * dayMs,
    clock: { now: () => Date.now() + days * dayMs },
  })
  await purge.run(new AbortController().signal)
}
