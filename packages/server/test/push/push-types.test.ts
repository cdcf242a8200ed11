/** Pushes by push type to devices with several tokens of ios_gw, on both databases. */
import { anyBackend, type Json, type LoginSession } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { sendText } from '../support/messaging/messaging.js'
import { type PushPlace, startPushWorld } from '../support/push/push-world.js'

/** Push types and suffixes of topics, by name. */
const certificates = {
  alerts: ['alert', ''],
  calls: ['voip', '.voip'],
  activities: ['liveactivity', '.push-type.liveactivity'],
  starts: ['liveactivity_start', '.push-type.liveactivity'],
} as const
const start = {
  event: 'start',
  content_state: { score: '0:0' },
  attributes_type: 'Match',
  attributes: { teams: 'A, B' },
}
let tokens = 0

describe.each(anyBackend())('push types on $name', (backend) => {
  let place: PushPlace

  beforeAll(async () => {
    place = await startPushWorld(backend, ['vendor_h'])
    for (const [name, [push_type]] of Object.entries(certificates))
      await place.world.setCertificate('ios_gw', name, { push_type })
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  /** A user with a token for each of the certificates. */
  async function aUser(names = Object.keys(certificates) as (keyof typeof certificates)[]) {
    const own = Object.fromEntries(
      names.map((name) => [name, `ab${String(++tokens).padStart(8, '0')}`]),
    )
    return { user: await place.world.user(own), own }
  }

  /** The trace of a push on the device of a user, and the accepted requests to the tokens of the device. */
  async function push(user: LoginSession, own: Json, message: Json) {
    const { world } = place
    const before = place.simulator.gateways.ios_gw.calls.length
    const task_id = await world.notify({ audience: { user_id: [user.id] }, message })
    await world.hasEnded(task_id)
    const { devices } = await world.trace({ task_id }, user.id)
    return { requests: requestsSince(own, before), text: devices[0]?.text }
  }

  function requestsSince(own: Json, before: number) {
    const calls = place.simulator.gateways.ios_gw.calls.slice(before)
    return Object.entries(own).flatMap(([name, token]) =>
      calls
        .filter(({ path }) => path.endsWith(`/${token}`))
        .map(({ headers, body, reply }) => {
          expect(reply).toMatchObject({ status: 200 })
          const [, suffix] = certificates[name as keyof typeof certificates]
          expect(headers['apns-topic']).toBe(`com.example.app${suffix}`)
          return { name, pushType: headers['apns-push-type'], aps: JSON.parse(body).aps as Json }
        }),
    )
  }

  it('a push reaches only the token for its push type, and a message that for alerts', async () => {
    const { user, own } = await aUser()
    const sent = async (message: Json) =>
      (await push(user, own, message)).requests.map(({ name, pushType }) => [name, pushType])
    expect(await sent({ title: 'News' })).toEqual([['alerts', 'alert']])
    expect(await sent({ type: 'cmd', ext: { do: 'sync' } })).toEqual([['alerts', 'background']])
    const call = { title: 'Ann', body: 'calls', ios: { push_type: 'voip' } }
    expect(await sent(call)).toEqual([['calls', 'voip']])
    const activity = (live_activity: Json) =>
      sent({ title: 'A - B', ios: { push_type: 'liveactivity', live_activity } })
    expect(await activity(start)).toEqual([['starts', 'liveactivity']])
    const update = { event: 'update', content_state: { score: '1:0' } }
    expect(await activity(update)).toEqual([['activities', 'liveactivity']])
    const before = place.simulator.gateways.ios_gw.calls.length
    const ann = await place.world.user()
    const message = await sendText(ann.api, user.id, 'Are you there?')
    await place.world.delivered(message, user.id)
    expect(requestsSince(own, before).map(({ name }) => name)).toEqual(['alerts'])
  })

  it('the trace says that a device has no token for the push type', async () => {
    const { user, own } = await aUser(['alerts'])
    const { requests, text } = await push(user, own, { ios: { push_type: 'voip' } })
    expect(requests).toEqual([])
    expect(text).toBe(
      'It was not sent: the device has no token of a certificate with the push type of the push (push_type).',
    )
  })

  it('a call reaches an Android device as a notification, a live activity does not', async () => {
    const user = await place.world.user({ vendor_h: `phone ${++tokens}` })
    const call = await push(user, {}, { title: 'Ann', ios: { push_type: 'voip' } })
    expect(call.text).toContain('The gateway of vendor_h accepted it')
    const end = { push_type: 'liveactivity', live_activity: { event: 'end' } }
    const activity = await push(user, {}, { ios: end })
    expect(activity.text).toContain('no token of a certificate with the push type')
  })

  it('a user who hides details gets no state of a live activity, but its end', async () => {
    const { user, own } = await aUser()
    await user.api.succeed('POST', '/user/settings', {
      body: { user_id: user.id, no_push_detail: true },
    })
    const change = (live_activity: Json) =>
      push(user, own, { title: 'Secret', ios: { push_type: 'liveactivity', live_activity } })
    const update = await change({ event: 'update', content_state: { score: '1:0' } })
    expect(update.requests).toEqual([])
    expect(update.text).toContain('the user wants no details on the screen')
    const end = await change({ event: 'end', content_state: { score: '1:0' } })
    expect(end.requests.map(({ aps }) => aps)).toEqual([
      { timestamp: expect.any(Number), event: 'end' },
    ])
  })

  it('a call ends a minute after it begins, unless it says otherwise', async () => {
    const { world } = place
    const lifeOf = async (more: Json) => {
      const message = { title: 'Ann', ios: { push_type: 'voip' }, ...more }
      const taskId = await world.notify({ audience: { user_id: [1] }, message })
      const { begins_at, expires_at } = await world.progress(taskId)
      return (expires_at - begins_at) / 1000
    }
    expect(await lifeOf({})).toBe(60)
    expect(await lifeOf({ ios: {} })).toBe(86_400)
    const show_end_time = Math.ceil(Date.now() / 1000) + 600
    expect(await lifeOf({ show_end_time })).toBeGreaterThan(500)
  })

  it('a push without what its push type needs is refused', async () => {
    const { admin } = place.world
    const body = { audience: 'all', message: { ios: { push_type: 'liveactivity' } } }
    const answer = await admin.call('POST', '/push/notify', { body })
    expect(answer.code).toBe(answerCode.invalid_parameter)
    expect(answer.envelope.message).toContain('message.ios.live_activity is required')
  })

  it('the gateway takes the checks of all certificates', async () => {
    const { world } = place
    for (const name of Object.keys(certificates)) {
      const body = { app_id: world.server.appId, name }
      const path = '/operator/v1/push/certificate/check'
      const { data } = await world.operator.succeed('POST', path, { body })
      expect(data.ok, data.words).toBe(true)
    }
  })
})
