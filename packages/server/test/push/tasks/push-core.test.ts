/** Pushes to devices that are connected to the service itself, on both databases (rules G1, G2 and G5). */
import { pushDeliveryState } from '@hermod/protocol'
import { PushSimulator } from '@hermod/push-simulator'
import { anyBackend, type LoginSession, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ownServer } from '../../support/in-process-server.js'
import { notify } from '../../support/messaging/messaging.js'
import type { TestCoreChannel } from '../../support/push/core-channel.js'
import { PushWorld } from '../../support/push/push-world.js'

const message = { title: 'News', body: 'There is something new.' }
const combined = { distribution_strategy: 'combined' }
const coreOnly = { distribution_strategy: 'corepush_only' }
const vendorsOnly = { distribution_strategy: 'ospush_only' }
let names = 0
const token = () => `device-${++names}`

describe.each(anyBackend())('pushes to connected devices on $name', (backend) => {
  let simulator: PushSimulator
  const service = ownServer(backend)
  let core: TestCoreChannel
  let world: PushWorld

  beforeAll(async () => {
    simulator = await PushSimulator.start()
    core = service.core
    world = new PushWorld(service, simulator)
    await world.setCertificates(['vendor_x'])
  })
  beforeEach(() => core.disconnectAll())
  afterAll(async () => {
    await simulator?.[Symbol.asyncDispose]()
  })

  const toUsers = (...users: readonly LoginSession[]) => ({ user_id: users.map(({ id }) => id) })
  const wasTold = (deviceToken: string) =>
    simulator.gateways.vendor_x.calls.some(({ body }) => body.includes(deviceToken))

  it('combined: go to the connected device itself, and to the others through their gateway', async () => {
    const [here, away] = [token(), token()]
    const user = await world.user({ vendor_x: here })
    await world.api.login(user, 'another device')
    await world.bind(user, 'vendor_x', away, 2)
    core.connect(user)
    await user.api.succeed('POST', '/user/push/badge', { body: { badge: 4 } })
    const taskId = await world.notify({ audience: toUsers(user), setting: combined, message })
    await world.reaches(taskId, {
      core_target: 1,
      core_sent: 1,
      vendor_x_target: 1,
      vendor_x_sent: 1,
    })
    expect([wasTold(here), wasTold(away)]).toEqual([false, true])
    expect(core.handedTo(user, taskId)).toMatchObject([{ notification: message, badge: 5 }])
  })

  it('reach a connected device that is bound to no gateway, also when they are to everybody', async () => {
    const user = await world.user()
    core.connect(user)
    const one = await world.notify({ audience: toUsers(user), message })
    await world.reaches(one, { core_target: 1, core_sent: 1 })
    const all = await world.notify({ audience: 'all', setting: coreOnly, message })
    await world.reaches(all, { core_target: 1, core_sent: 1 })
    expect(core.handedTo(user, all)).toHaveLength(1)
  })

  it('to everybody go through all connected users, page by page', async () => {
    const users = await Promise.all(Array.from({ length: 4 }, () => world.user()))
    for (const user of users) core.connect(user)
    // More than a page; they need no accounts to be looked for, and without one they get nothing.
    for (let id = 1; id <= 600; id++) core.connect({ id })
    const taskId = await world.notify({ audience: 'all', setting: coreOnly, message })
    await world.reaches(taskId, { core_target: users.length, core_sent: users.length })
    for (const user of users) expect(core.handedTo(user, taskId)).toHaveLength(1)
  })

  it('go to the gateway when the device has left between the choice and the delivery', async () => {
    const own = token()
    const [bound, unbound] = [await world.user({ vendor_x: own }), await world.user()]
    core.connectUntilTold(bound)
    core.connectUntilTold(unbound)
    const taskId = await world.notify({ audience: toUsers(bound, unbound), message })
    await world.reaches(taskId, { core_target: 2, vendor_x_target: 1, vendor_x_sent: 1 })
    expect(wasTold(own)).toBe(true)
    expect(core.handedTo(bound, taskId)).toEqual([])
  })

  it('corepush_only: never go to a gateway', async () => {
    const tokens = [token(), token(), token()]
    const users = await Promise.all(tokens.map((own) => world.user({ vendor_x: own })))
    const [connected, leaving] = users as [LoginSession, LoginSession, LoginSession]
    core.connect(connected)
    core.connectUntilTold(leaving)
    const taskId = await world.notify({ audience: toUsers(...users), setting: coreOnly, message })
    await world.reaches(taskId, { core_target: 2, core_sent: 1 })
    expect(tokens.filter(wasTold)).toEqual([])
  })

  it('ospush_only: go to the gateway also when the device is connected', async () => {
    const own = token()
    const user = await world.user({ vendor_x: own })
    core.connect(user)
    const setting = vendorsOnly
    const taskId = await world.notify({ audience: toUsers(user), setting, message })
    await world.reaches(taskId, { vendor_x_target: 1, vendor_x_sent: 1 })
    expect(core.handedTo(user, taskId)).toEqual([])
  })

  it('obey what users want of pushes', async () => {
    const users = await Promise.all([1, 2, 3].map(() => world.user()))
    const [none, hidden, plain] = users as [LoginSession, LoginSession, LoginSession]
    for (const user of users) core.connect(user)
    await none.api.succeed('POST', '/user/push', { query: { value: true } })
    await hidden.api.succeed('POST', '/user/push/detail', { query: { value: true } })
    const taskId = await world.notify({ audience: toUsers(...users), message })
    await world.reaches(taskId, { core_target: 2, core_sent: 2 })
    const shown = (user: LoginSession) =>
      core.handedTo(user, taskId).map(({ notification }) => notification.title)
    expect([none, hidden, plain].map(shown)).toEqual([[], [''], [message.title]])
  })

  describe('of messages', () => {
    /** A connected device is pinged when the message is pushed, and has 15 seconds to answer. */
    const waitPasses = () => service.clock.set(service.clock.now() + 15_000)

    async function waits(message: number, user: LoginSession): Promise<void> {
      const delivery = await waitFor(() => world.delivery(message, user.id), {
        what: 'the delivery of the message',
        timeoutMs: 20_000,
      })
      expect(delivery).toMatchObject({ state: pushDeliveryState.pending, attempts: 0 })
      expect(delivery.steps.at(-1)).toMatchObject({ step: 'waiting', next_at: delivery.next_at })
    }

    it('wait for a connected device that answers, and go to the others of its user at once', async () => {
      const [here, away] = [token(), token()]
      const user = await world.user({ vendor_x: here })
      await world.api.login(user, 'another device')
      await world.bind(user, 'vendor_x', away, 2)
      core.connect(user)
      core.answer(user)
      const message = await notify(world.admin, user.id, 'There is something new.')
      const other = await world.delivered(message, user.id, 2)
      await waits(message, user)
      waitPasses()
      const connected = await world.delivered(message, user.id, 1)
      expect(connected.steps.at(-1)).toMatchObject({ step: 'suppressed', result: 'connected' })
      expect(other.steps.at(-1)).toMatchObject({ step: 'tried', result: 'accepted' })
      expect([wasTold(here), wasTold(away)]).toEqual([false, true])
      expect(core.handed.filter(({ device }) => device.userId === user.id)).toEqual([])
    })

    it('are sent after 15 seconds to a connected device that does not answer, or has left', async () => {
      const tokens = [token(), token()] as const
      const [silent, leaving] = [
        await world.user({ vendor_x: tokens[0] }),
        await world.user({ vendor_x: tokens[1] }),
      ]
      for (const user of [silent, leaving]) core.connect(user)
      core.answer(leaving)
      const messages = [
        await notify(world.admin, silent.id, 'One.'),
        await notify(world.admin, leaving.id, 'Two.'),
      ] as const
      await waits(messages[0], silent)
      await waits(messages[1], leaving)
      expect(tokens.map(wasTold)).toEqual([false, false])
      core.disconnectAll()
      core.connect(silent)
      waitPasses()
      for (const [index, user] of [silent, leaving].entries()) {
        const delivery = await world.delivered(messages[index] ?? 0, user.id)
        expect(delivery.steps.at(-1)).toMatchObject({ step: 'tried', result: 'accepted' })
      }
      expect(tokens.map(wasTold)).toEqual([true, true])
    })

    it('are not sent when the message was read within the 15 seconds', async () => {
      const own = token()
      const user = await world.user({ vendor_x: own })
      core.connect(user)
      const message = await notify(world.admin, user.id, 'There is something new.')
      await waits(message, user)
      await user.api.succeed('GET', '/message/ack', { query: { conversation_id: 0 } })
      const delivery = await world.delivered(message, user.id)
      expect(delivery.steps.at(-1)).toMatchObject({ step: 'suppressed', result: 'message_read' })
      waitPasses()
      const next = await notify(world.admin, user.id, 'The next one.')
      await waits(next, user)
      expect(wasTold(own)).toBe(false)
    })

    it('to a connected device without a token wait for nothing', async () => {
      const user = await world.user({ vendor_x: token() })
      await world.api.login(user, 'another device')
      core.connect(user, 2)
      const message = await notify(world.admin, user.id, 'There is something new.')
      const delivery = await world.delivered(message, user.id, 2)
      expect(delivery.steps.at(-1)).toMatchObject({ step: 'suppressed', result: 'connected' })
    })
  })

  it('count as received when the app says so, once', async () => {
    const [user, other] = [await world.user(), await world.user()]
    core.connect(user)
    core.connect(other)
    const taskId = await world.notify({ audience: toUsers(user, other), message })
    await world.reaches(taskId, { core_target: 2, core_sent: 2 })
    const report = () => user.api.succeed('POST', '/push/report', { body: { task_id: taskId } })
    await Promise.all([report(), report(), report()])
    await world.reaches(taskId, { core_target: 2, core_sent: 2, core_received: 1 })
  })

  it('are tried again after a failure of the channel, and count once', async () => {
    const users = await Promise.all([1, 2, 3].map(() => world.user()))
    for (const user of users) core.connect(user)
    core.failNext(2)
    const taskId = await world.notify({ audience: toUsers(...users), message })
    await world.reaches(taskId, { core_target: 3, core_sent: 3 })
    for (const user of users) expect(core.handedTo(user, taskId)).toHaveLength(1)
  })
})
