/**
 * Presence, receipts, typing and pushes of connected devices, over sockets (rules E8a, E10, E14a,
 * E15, G1, G5).
 */
import { pushDeliveryState } from '@hermod/protocol'
import { PushSimulator } from '@hermod/push-simulator'
import {
  anyBackend,
  GatewayClient,
  type GatewayClientOptions,
  type LoginSession,
  type Session,
  waitFor,
} from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { block, connect, unblock } from '../support/contacts.js'
import { aGroup, expectSuccess, groupCall } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { history, notify, sendText, textTo } from '../support/messaging/messaging.js'
import { PushWorld } from '../support/push/push-world.js'

type Five = [Session, Session, Session, Session, Session]

const typing = { content: '', ext: '{"input_status":"typing"}' }
const stopped = { content: '', ext: '{"input_status":"nothing"}' }

describe.each(anyBackend())('connected devices on $name', (backend) => {
  const service = ownServer(backend, {}, 'gateway')
  let simulator: PushSimulator
  let world: PushWorld
  const clients: GatewayClient[] = []

  beforeAll(async () => {
    simulator = await PushSimulator.start()
    world = new PushWorld(service, simulator)
    await world.setCertificates(['vendor_x'])
  })
  afterEach(() => {
    for (const client of clients.splice(0)) client[Symbol.dispose]()
  })
  afterAll(async () => {
    await simulator?.[Symbol.asyncDispose]()
  })

  /** Opens a session. @param deviceGuid null: it has no device */
  async function open(
    { token }: Pick<Session, 'token'>,
    deviceGuid: string | null = 'phone',
    options: GatewayClientOptions = {},
  ): Promise<GatewayClient> {
    const client = await GatewayClient.connect(service.url, options)
    clients.push(client)
    const device = deviceGuid === null ? {} : { deviceGuid }
    await client.open({ appId: service.appId, accessToken: token, ...device })
    return client
  }

  /** A user with a device that is bound to a gateway, if there is a token. */
  async function aPhone(token: string | null): Promise<LoginSession & { readonly guid: string }> {
    const user = await world.user(token === null ? {} : { vendor_x: token })
    return { ...user, guid: `guid of ${user.username}` }
  }

  const people = async (count: number) =>
    Promise.all(Array.from({ length: count }, () => service.api.newSession()))

  const makeContacts = ({ id: userId }: Session, other: Session) =>
    connect({ api: service.api.admin({ userId }) }, other)

  const eventsOf = ({ events }: GatewayClient, kind: string) =>
    events.filter(({ event }) => event === kind).map(({ data }) => data)

  /**
   * Waits until everything that was sent before has arrived, since frames of a connection keep
   * their order.
   */
  const hasArrived = (client: GatewayClient) => client.succeed('user.online_status')

  describe('presence', () => {
    it('shows contacts who come online, in the answer, in an event and over HTTP', async () => {
      const [alice, bob, stranger] = (await people(3)) as [Session, Session, Session]
      await makeContacts(alice, bob)
      const client = await open(alice)
      await open(stranger)
      const user_ids = [bob.id, alice.id, stranger.id]
      const { data } = await client.succeed('presence.subscribe', { user_ids })
      expect(data).toEqual([
        { user_id: bob.id, online: false },
        { user_id: alice.id, online: true },
        { user_id: stranger.id, online: false },
      ])
      await open(bob)
      expect((await client.next('presence')).data).toEqual({
        users: [{ user_id: bob.id, online: true }],
      })
      const status = await bob.api.succeed('GET', '/user/online_status')
      expect(status.data).toEqual({ online: true })
      const devices = await bob.api.succeed('GET', '/user/device/list')
      expect(devices.data).toMatchObject([{ device_sn: 1, online: true }])
    })

    it('hides a user who blocks the subscriber, and shows the user again after the block', async () => {
      const [alice, bob] = (await people(2)) as [Session, Session]
      await makeContacts(alice, bob)
      await open(bob)
      const client = await open(alice, null)
      const user_ids = [bob.id]
      const { data } = await client.succeed('presence.subscribe', { user_ids })
      expect(data).toEqual([{ user_id: bob.id, online: true }])
      await block(bob.api, alice.id)
      expect((await client.next('presence')).data.users).toEqual([
        { user_id: bob.id, online: false },
      ])
      await unblock(bob.api, alice.id)
      expect((await client.next('presence')).data.users).toEqual([
        { user_id: bob.id, online: true },
      ])
    })

    it('refuses lists that are too long or hold no IDs, and calls over HTTP', async () => {
      const [alice] = (await people(1)) as [Session]
      const client = await open(alice)
      const tooMany = Array.from({ length: 501 }, (_, index) => index)
      for (const user_ids of [tooMany, ['x'], 'x', undefined]) {
        const { code, message } = await client.call('presence.subscribe', { user_ids })
        expect([code, message]).toEqual([
          answerCode.invalid_parameter,
          expect.stringContaining('user_ids'),
        ])
      }
      const overHttp = { body: { user_ids: [] } }
      await expectCode(alice.api.call('POST', '/presence/subscribe', overHttp), 'socket_needed')
    })
  })

  describe('messages that are not stored', () => {
    it('with online_only reach the connected devices of the receiver', async () => {
      const [alice, bob] = (await people(2)) as [Session, Session]
      const [own, phone, tab] = [await open(alice), await open(bob), await open(bob, '')]
      const body = textTo([bob.id], 'now or never', { online_only: true, ext: '{"a":1}' })
      const { msg_ids } = await alice.api.succeed('POST', '/message/send', { body })
      for (const client of [phone, tab])
        expect((await client.next('message.transient')).data).toMatchObject({
          conversation: { low_id: alice.id, high_id: bob.id, is_group: false },
          msg_id: msg_ids[0],
          sender_id: alice.id,
          content: 'now or never',
          ext: '{"a":1}',
          is_system: false,
        })
      await hasArrived(own)
      expect(eventsOf(own, 'message.transient')).toEqual([])
      expect(await history(bob.api, alice.id)).toEqual([])
    })

    it('are typing signals too: one a second at most, the newest state at its end', async () => {
      const [alice, bob] = (await people(2)) as [Session, Session]
      const [own, phone] = [await open(alice), await open(bob)]
      const signal = (extras: object) =>
        own.succeed('message.send', { ...textTo([bob.id], '', { ...extras }) })
      for (let count = 0; count < 5; count++) await signal(typing)
      await signal(stopped)
      const states = await waitFor(
        () => {
          const found = eventsOf(phone, 'typing')
          return found.length > 1 && found
        },
        { what: 'both states', timeoutMs: 10_000 },
      )
      const conversation = { low_id: alice.id, high_id: bob.id, is_group: false }
      expect(states).toEqual([
        { conversation, user_id: alice.id, state: 'typing' },
        { conversation, user_id: alice.id, state: 'nothing' },
      ])
      expect(eventsOf(own, 'typing')).toEqual([])
      expect(await history(bob.api, alice.id)).toEqual([])
    })

    it('reach the connected members of a group only, except those with msg_mute_mode 2', async () => {
      const [alice, bob, carol, dave, outsider] = (await people(5)) as Five
      const group = await aGroup(alice, { members: [bob, carol, dave] })
      const muted = { msg_mute_mode: 2 }
      expectSuccess(await groupCall(dave.api, '/group/msg/mute_mode', group, muted))
      const members = [await open(bob), await open(carol)]
      const silent = [await open(alice), await open(dave), await open(outsider)] as const
      const [own] = silent
      await own.succeed('message.send', { ...textTo([group], '', typing), type: 2 })
      for (const member of members)
        expect((await member.next('typing')).data).toEqual({
          conversation: { low_id: group, high_id: group, is_group: true },
          user_id: alice.id,
          state: 'typing',
        })
      for (const client of silent) {
        await hasArrived(client)
        expect(eventsOf(client, 'typing')).toEqual([])
      }
    })
  })

  it('a delivery receipt over the socket reaches the sender', async () => {
    const [alice, bob] = (await people(2)) as [Session, Session]
    const [own, phone] = [await open(alice), await open(bob)]
    const message = await sendText(alice.api, bob.id, 'hello')
    const conversations = [{ conversation_id: alice.id, seq: 1 }]
    await phone.succeed('message.delivered', { conversations })
    expect((await own.next('message.delivered')).data).toMatchObject({
      actor_id: bob.id,
      msg_id: message,
      seq: 1,
    })
  })

  describe('pushes', () => {
    const wasPushed = (token: string) =>
      simulator.gateways.vendor_x.calls.some(({ body }) => body.includes(token))
    const waitPasses = () => service.clock.set(service.clock.now() + 15_000)

    async function waits(message: number, user: Session): Promise<void> {
      await waitFor(
        async () => (await world.delivery(message, user.id))?.steps.at(-1).step === 'waiting',
        { what: 'the wait for the device', timeoutMs: 20_000 },
      )
    }

    it('of tasks reach a connected device, which confirms them once', async () => {
      const user = await aPhone('a-token-that-is-not-used')
      const client = await open(user, user.guid)
      const taskId = await world.notify({
        audience: { user_id: [user.id] },
        message: { title: 'News', body: 'There is something new.', ext: { page: 7 } },
      })
      const { data } = await client.next('push.notification')
      expect(data).toMatchObject({
        ...{ task_id: taskId, kind: 'text', title: 'News' },
        ...{ body: 'There is something new.', ext: { page: 7 }, is_silent: false },
      })
      await world.reaches(taskId, { core_target: 1, core_sent: 1 })
      for (const task_ids of [[taskId, 77], [taskId]])
        await client.succeed('push.received', { task_ids })
      await world.reaches(taskId, { core_target: 1, core_sent: 1, core_received: 1 })
      const { code } = await client.call('push.received', { task_ids: [] })
      expect(code).toBe(answerCode.invalid_parameter)
      expect(wasPushed('a-token-that-is-not-used')).toBe(false)
    })

    it('of messages are withdrawn from a connected device that answers', async () => {
      const user = await aPhone('of-a-phone-that-answers')
      const client = await open(user, user.guid)
      const message = await notify(world.admin, user.id, 'There is something new.')
      await waits(message, user)
      await waitFor(() => client.pings > 0, { what: 'a ping', timeoutMs: 10_000 })
      waitPasses()
      const delivery = await world.delivered(message, user.id)
      expect(delivery).toMatchObject({ state: pushDeliveryState.suppressed })
      expect(delivery.steps.at(-1)).toMatchObject({ step: 'suppressed', result: 'connected' })
      expect(wasPushed('of-a-phone-that-answers')).toBe(false)
    })

    it('of messages are sent after 15 seconds to a connected device from which nothing comes', async () => {
      const user = await aPhone('of-a-phone-in-a-lift')
      await open(user, user.guid, { answersPings: false })
      const message = await notify(world.admin, user.id, 'There is something new.')
      await waits(message, user)
      expect(wasPushed('of-a-phone-in-a-lift')).toBe(false)
      waitPasses()
      expect(await world.delivered(message, user.id)).toMatchObject({
        state: pushDeliveryState.accepted,
      })
      expect(wasPushed('of-a-phone-in-a-lift')).toBe(true)
    })

    it('of messages are sent after a restart of the service within the 15 seconds', async () => {
      const user = await aPhone('of-a-phone-before-the-restart')
      await open(user, user.guid)
      const message = await notify(world.admin, user.id, 'There is something new.')
      await waits(message, user)
      await service.stop()
      await service.startAgain()
      await open(user, user.guid)
      waitPasses()
      await world.delivered(message, user.id)
      expect(wasPushed('of-a-phone-before-the-restart')).toBe(true)
    })
  })
})
