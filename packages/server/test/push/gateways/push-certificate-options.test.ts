/** What certificates say of pushes that say nothing themselves, on both databases. */
import { type RecordedCall, simulatedTemplates } from '@hermod/push-simulator'
import { anyBackend, type Json, type Session, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sendText } from '../../support/messaging/messaging.js'
import { type PushPlace, startPushWorld } from '../../support/push/push-world.js'

/** The notification channel and the class of the badge that a request names. */
type Named = readonly [channel: string | undefined, badgeClass: string | undefined]

const json = ({ body }: RecordedCall): Json => JSON.parse(body)
const form = ({ body }: RecordedCall): Json => Object.fromEntries(new URLSearchParams(body))

const readers = {
  cloud_gw: (call) => [json(call).message.android.notification.channel_id, undefined],
  vendor_h: (call) => {
    const { channel_id, badge } = json(call).message.android.notification
    return [channel_id, badge?.class]
  },
  vendor_n: (call) => [undefined, json(call).android.notification.badge?.badgeClass],
  vendor_x: (call) => [form(call)['extra.channel_id'], undefined],
  vendor_o: (call) => [JSON.parse(form(call).message).notification.channel_id, undefined],
} satisfies Record<string, (call: RecordedCall) => Named>

type Channel = keyof typeof readers
const channels = Object.keys(readers) as Channel[]
const hasChannel = (channel: Channel) => channel !== 'vendor_n'
const hasBadgeClass = (channel: Channel) => channel === 'vendor_h' || channel === 'vendor_n'

const message = { title: 'News', body: 'There is something new.' }
let names = 0

describe.each(anyBackend())('options of certificates on $name', (backend) => {
  let place: PushPlace
  let ann: Session

  beforeAll(async () => {
    place = await startPushWorld(backend, [])
    ann = await place.world.user()
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  /** What the gateway is told for a new device, which is bound to a certificate of its own. */
  async function namedFor(
    channel: Channel,
    changes: Json,
    push: (user: Session) => Promise<unknown>,
  ): Promise<Named> {
    const { world, simulator } = place
    const token = `device-${++names}`
    await world.setCertificate(channel, token, changes)
    const user = await world.user({ [token]: token })
    await push(user)
    const call = await waitFor(
      async () => simulator.gateways[channel].calls.find(({ body }) => body.includes(token)),
      { what: `the push to ${token}`, timeoutMs: 60_000 },
    )
    expect(call.reply).toMatchObject({ status: 200 })
    return readers[channel](call)
  }

  const defaults = { channel_id: 'messages', badge_class: 'com.example.Launcher' }
  const ofDefaults = (channel: Channel): Named => [
    hasChannel(channel) ? 'messages' : undefined,
    hasBadgeClass(channel) ? 'com.example.Launcher' : undefined,
  ]
  const chat = ({ id }: Session) => sendText(ann.api, id, 'Are you there?')
  const task = (more: Json) => (user: Session) =>
    place.world.notify({ audience: { user_id: [user.id] }, message: { ...message, ...more } })

  it.each(channels)('%s: the push of a message has what its certificate names', async (channel) => {
    expect(await namedFor(channel, defaults, chat)).toEqual(ofDefaults(channel))
  })

  it.each(channels)('%s: without it, the push of a message names nothing', async (channel) => {
    expect(await namedFor(channel, {}, chat)).toEqual([undefined, undefined])
  })

  it.each(channels)(
    '%s: a task that names nothing has what its certificate names',
    async (channel) => {
      const blank = { [channel]: { channel_id: '' } }
      expect(await namedFor(channel, defaults, task(blank))).toEqual(ofDefaults(channel))
    },
  )

  it('vendor_h: api_version 3 reaches a device with HarmonyOS 5, which keeps its token with an earlier version', async () => {
    const { world, simulator } = place
    const gateway = simulator.gateways.vendor_h
    const account = { app_secret: '', certificate: gateway.account, api_version: 3 }
    await world.setCertificate('vendor_h', 'harmony', account)
    await world.setCertificate('vendor_h', 'android')
    const right = await world.user({ harmony: 'MAMzLg-right' })
    const wrong = await world.user({ android: 'MAMzLg-wrong' })
    const audience = { user_id: [right.id, wrong.id] }
    const push = () => world.notify({ audience, message })
    const first = await push()
    await world.reaches(first, { vendor_h_target: 2, vendor_h_sent: 1 })
    const pathsOf = (token: string) =>
      gateway.calls.filter(({ body }) => body.includes(token)).map(({ path }) => path)
    expect(pathsOf('MAMzLg-right')).toEqual([expect.stringMatching(/^\/v3\//)])
    const reason = 'it needs a certificate with api_version 3'
    await waitFor(
      async () => JSON.stringify(await world.trace({ task_id: first }, wrong.id)).includes(reason),
      { what: 'the reason in the trace', timeoutMs: 60_000 },
    )
    await world.reaches(await push(), { vendor_h_target: 2, vendor_h_sent: 1 })
  })

  it('vendor_x: the push of a message has the template of its kind, a task the one that it names', async () => {
    const { world, simulator } = place
    const { id } = simulatedTemplates.vendor_x
    const parameters = { sender: '{title}', text: '{body}' }
    const templates = [
      { name: 'direct', id, parameters },
      { name: 'order', id, parameters: { ...parameters, text: 'No. {ext.order}' } },
      { name: 'default', id: 'another' },
    ]
    await world.setCertificate('vendor_x', 'templates', { channel_id: 'chat', templates })
    const user = await world.user({ templates: 'device-of-templates' })
    const valuesOf = async (push: (user: Session) => Promise<unknown>) => {
      const { calls } = simulator.gateways.vendor_x
      const before = calls.length
      await push(user)
      const call = await waitFor(async () => calls.slice(before).at(0), {
        what: 'the push',
        timeoutMs: 60_000,
      })
      const fields = form(call)
      return [fields['extra.template_id'], JSON.parse(fields['extra.template_param'])]
    }
    const sender = expect.any(String)
    expect(await valuesOf(chat)).toEqual([id, { sender, text: 'Are you there?' }])
    const order = { vendor_x: { template: 'order' }, ext: { order: 12 } }
    expect(await valuesOf(task(order))).toEqual([id, { sender: 'News', text: 'No. 12' }])
    expect(await valuesOf(task({}))).toEqual(['another', {}])
  })

  it('a check names the channel too, so that the gateway can refuse it', async () => {
    const { world, simulator } = place
    await world.setCertificate('vendor_x', 'checked', { channel_id: 'to be checked' })
    const body = { app_id: world.server.appId, name: 'checked' }
    await world.operator.succeed('POST', '/operator/v1/push/certificate/check', { body })
    const named = simulator.gateways.vendor_x.calls.map(readers.vendor_x)
    expect(named).toContainEqual(['to be checked', undefined])
  })

  it.each(channels)(
    '%s: what a task names wins over what its certificate names',
    async (channel) => {
      const own = hasBadgeClass(channel) ? { [channel]: { badge_class: 'Own' } } : {}
      const named = await namedFor(
        channel,
        defaults,
        task({ android: { channel_id: 'news' }, ...own }),
      )
      expect(named).toEqual([
        hasChannel(channel) ? 'news' : undefined,
        hasBadgeClass(channel) ? 'Own' : undefined,
      ])
    },
  )
})
