/** Reports of apps: what counts where the gateway sends no receipts (rule G1). */
import { anyBackend, type LoginSession } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { type PushPlace, type PushWorld, startPushWorld } from '../support/push/push-world.js'

const message = { title: 'News', body: 'There is something new.' }
let names = 0

describe.each(anyBackend())('reports of apps on $name', (backend) => {
  let place: PushPlace
  let world: PushWorld

  beforeAll(async () => {
    place = await startPushWorld(backend, ['ios_gw', 'cloud_gw'])
    world = place.world
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  const iosToken = () => (++names).toString(16).padStart(64, '0')
  const report = (session: LoginSession, taskId: number, action?: string) =>
    session.api.call('POST', '/push/report', { body: { task_id: taskId, action } })

  async function sent(users: readonly LoginSession[]): Promise<number> {
    const audience = { user_id: users.map(({ id }) => id) }
    const taskId = await world.notify({ audience, message })
    await world.reaches(taskId, { ios_gw_target: users.length, ios_gw_sent: users.length })
    return taskId
  }

  it('count each device once, however often and for what it reports', async () => {
    const users = await Promise.all([1, 2].map(() => world.user({ ios_gw: iosToken() })))
    const [a, b] = users as [LoginSession, LoginSession]
    const taskId = await sent(users)
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        report(a, taskId, ['received', 'clicked', undefined][index % 3]),
      ),
    )
    expect(answers.map(({ code, data }) => [code, data])).toEqual(
      Array.from({ length: 10 }, () => [200, true]),
    )
    const one = { ios_gw_target: 2, ios_gw_sent: 2, ios_gw_received: 1 }
    expect(await world.counts(taskId)).toEqual(one)
    await report(b, taskId, 'clicked')
    await report(b, taskId)
    expect(await world.counts(taskId)).toEqual({ ...one, ios_gw_received: 2 })
  })

  it('are about the device of the token alone', async () => {
    const user = await world.user({ ios_gw: iosToken() })
    const taskId = await sent([user])
    const tablet = await world.api.login(user, 'a tablet')
    const deviceless = await world.api.login(user)
    const stranger = await world.user({ ios_gw: iosToken() })
    for (const session of [tablet, deviceless, stranger])
      await expectCode(report(session, taskId), 'push_task_not_found')
    const asAdmin = await world.server.api
      .admin({ userId: user.id })
      .call('POST', '/push/report', { body: { task_id: taskId } })
    expect(asAdmin.code).toBe(answerCode.no_permission)
    await expectCode(report(user, taskId + 1), 'push_task_not_found')
    expect(await world.counts(taskId)).toEqual({ ios_gw_target: 1, ios_gw_sent: 1 })
  })

  it('of a push that was not sent to the device succeed and count nothing', async () => {
    const user = await world.user({ ios_gw: iosToken() })
    await user.api.succeed('POST', '/user/push', { query: { value: true } })
    const body = { audience: { user_id: [user.id] }, message }
    const taskId = await world.notify(body)
    await world.hasEnded(taskId)
    expect((await report(user, taskId)).data).toBe(true)
    expect(await world.counts(taskId)).toEqual({})
  })

  it('name their action, or are refused', async () => {
    const user = await world.user({ ios_gw: iosToken() })
    const taskId = await sent([user])
    await expectCode(report(user, taskId, 'seen'), 'invalid_parameter')
    const without = await user.api.call('POST', '/push/report', { body: {} })
    expect(without.code).toBe(answerCode.invalid_parameter)
  })
})
