/** Push tasks from the request to the gateways, on both databases (rules G1 to G4). */
import type { PushSimulator } from '@hermod/push-simulator'
import { anyBackend, type Json, type LoginSession, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../../support/answer-codes.js'
import type { InProcessServer } from '../../support/in-process-server.js'
import { type PushPlace, type PushWorld, startPushWorld } from '../../support/push/push-world.js'

const message = { title: 'News', body: 'There is something new.' }
const handsets = ['vendor_h', 'vendor_n', 'vendor_x', 'vendor_o', 'vendor_v', 'vendor_f'] as const
const channels = ['ios_gw', 'cloud_gw', ...handsets] as const
/** Time for a call or two on a slow machine, before what was put off is tried again. */
const retryAfterSeconds = 4
let names = 0

/** A device token that the gateway takes; that of ios_gw is hexadecimal. */
function token(channel: string, prefix = ''): string {
  const number = ++names
  return channel === 'ios_gw'
    ? prefix + number.toString(16).padStart(64 - prefix.length, '0')
    : `${prefix}device-${number}`
}

describe.each(anyBackend())('push tasks on $name', (backend) => {
  let place: PushPlace
  let watched: InProcessServer
  let simulator: PushSimulator
  let world: PushWorld

  beforeAll(async () => {
    place = await startPushWorld(backend, channels, { retryAfterSeconds })
    ;({ watched, simulator, world } = place)
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  const toUsers = (users: readonly LoginSession[]) => ({ user_id: users.map(({ id }) => id) })
  const wasTold = (channel: (typeof channels)[number], deviceToken: string) =>
    simulator.gateways[channel].calls.some(
      ({ path, body }) => path.includes(deviceToken) || body.includes(deviceToken),
    )

  it('reach a device through its channel, whichever it is, and count it', async () => {
    const bound = channels.map((channel) => [channel, token(channel)] as const)
    const users = await Promise.all(bound.map(([name, own]) => world.user({ [name]: own })))
    const taskId = await world.notify({ audience: toUsers(users), message })
    await world.reaches(
      taskId,
      Object.fromEntries(
        channels.flatMap((name) => [
          [`${name}_target`, 1],
          [`${name}_sent`, 1],
        ]),
      ),
    )
    for (const [channel, own] of bound) expect(wasTold(channel, own), channel).toBe(true)
  })

  it('choose the first channel of the sequence, and the next one when its token is dead', async () => {
    const [dead, alive] = [token('vendor_h', 'dead-'), token('cloud_gw')]
    // The certificate of vendor_h works, so that dead tokens are believed.
    const other = await world.user({ vendor_h: token('vendor_h') })
    await world.reaches(await world.notify({ audience: toUsers([other]), message }), {
      vendor_h_target: 1,
      vendor_h_sent: 1,
    })
    const user = await world.user({ vendor_h: dead, cloud_gw: alive })
    const audience = toUsers([user])
    const first = await world.notify({ audience, message })
    await world.reaches(first, { vendor_h_target: 1, cloud_gw_target: 1, cloud_gw_sent: 1 })
    // The dead token is forgotten.
    const second = await world.notify({ audience, message })
    await world.reaches(second, { cloud_gw_target: 1, cloud_gw_sent: 1 })
    const setting = { ospush_sequence: ['cloud_gw', 'ups'] }
    await world.bind(user, 'vendor_h', token('vendor_h'))
    const third = await world.notify({ audience, setting, message })
    await world.reaches(third, { cloud_gw_target: 1, cloud_gw_sent: 1 })
  })

  it('go to the new token of a device that was bound anew meanwhile, which is still one device', async () => {
    const [old, current] = [token('cloud_gw', 'throttle-'), token('cloud_gw')]
    const user = await world.user({ cloud_gw: old })
    const taskId = await world.notify({ audience: toUsers([user]), message })
    await waitFor(() => wasTold('cloud_gw', old), { what: 'the first try', timeoutMs: 30_000 })
    // The gateway wants to be left alone for some seconds.
    await world.bind(user, 'cloud_gw', current)
    await world.reaches(taskId, { cloud_gw_target: 1, cloud_gw_sent: 1 })
    expect(wasTold('cloud_gw', current)).toBe(true)
  })

  it('find devices by tag, alias, user and push token, each device once', async () => {
    const users = await Promise.all(
      [1, 2, 3].map(() => world.user({ vendor_x: token('vendor_x') })),
    )
    const [a, b, c] = users as [LoginSession, LoginSession, LoginSession]
    const tag = `tag ${++names}`
    const alias = `alias${++names}`
    await a.api.succeed('POST', '/user/push/tag', { body: { tags: [tag, `${tag} too`] } })
    await b.api.succeed('POST', '/user/push/tag', { body: { tags: [`${tag} too`] } })
    await c.api.succeed('POST', '/user/push/alias', { body: { alias } })
    const pushToken = c.record.push_token ?? ''
    expect(pushToken).not.toBe('')
    const cases: [Json, number][] = [
      [{ tag: [tag, `${tag} too`, 'nobody'] }, 2],
      [{ tag: [tag] }, 1],
      [{ alias: [alias, alias, 'nobody'] }, 1],
      [{ user_id: [a.id, b.id, c.id, a.id, 4] }, 3],
      [{ push_token: [pushToken, 'nobody'] }, 1],
      [{ user_id: [4] }, 0],
    ]
    for (const [audience, count] of cases) {
      const taskId = await world.notify({ audience, message })
      await world.reaches(taskId, count ? { vendor_x_target: count, vendor_x_sent: count } : {})
    }
  })

  it('leave out who wants none, and hide details from who wants none', async () => {
    const tokens = [1, 2, 3].map(() => token('vendor_o'))
    const users = await Promise.all(tokens.map((own) => world.user({ vendor_o: own })))
    const [none, hidden, plain] = users as [LoginSession, LoginSession, LoginSession]
    await none.api.succeed('POST', '/user/push', { query: { value: true } })
    await hidden.api.succeed('POST', '/user/push/detail', { query: { value: true } })
    const secret = { title: `title ${++names}`, body: `body ${names}` }
    const taskId = await world.notify({ audience: toUsers([none, hidden, plain]), message: secret })
    await world.reaches(taskId, { vendor_o_target: 2, vendor_o_sent: 2 })
    const bodies = (own = '') =>
      simulator.gateways.vendor_o.calls
        .map(({ body }) => decodeURIComponent(body.replaceAll('+', ' ')))
        .filter((body) => body.includes(own))
    expect(bodies(tokens[0])).toEqual([])
    expect(bodies(tokens[1]).join()).not.toContain(secret.body)
    expect(bodies(tokens[1]).join()).not.toContain(secret.title)
    expect(bodies(tokens[2]).join()).toContain(secret.body)
  })

  it('count the badge on, or set it', async () => {
    const own = token('ios_gw')
    const user = await world.user({ ios_gw: own })
    await user.api.succeed('POST', '/user/push/badge', { body: { badge: 4 } })
    const shown: unknown[] = []
    for (const badge of [undefined, '+3', '2', '0', '']) {
      const taskId = await world.notify({
        audience: toUsers([user]),
        message: { ...message, ...(badge !== undefined && { badge }) },
      })
      await world.reaches(taskId, { ios_gw_target: 1, ios_gw_sent: 1 })
      const call = simulator.gateways.ios_gw.calls.findLast(({ path }) => path.includes(own))
      shown.push(JSON.parse(call?.body ?? '{}').aps.badge)
    }
    expect(shown).toEqual([5, 8, 2, 0, 1])
  })

  it('count the badge on once each, also when they come at once and the user sets it', async () => {
    const own = token('ios_gw')
    const user = await world.user({ ios_gw: own })
    const startAt = 1_000
    const pushes = 12
    const setBadge = () =>
      user.api.succeed('POST', '/user/push/badge', { body: { badge: startAt } })
    await setBadge()
    const [taskIds] = await Promise.all([
      Promise.all(
        Array.from({ length: pushes }, () => world.notify({ audience: toUsers([user]), message })),
      ),
      setBadge(),
    ])
    for (const taskId of taskIds) await world.reaches(taskId, { ios_gw_target: 1, ios_gw_sent: 1 })
    const shown = simulator.gateways.ios_gw.calls
      .filter(({ path }) => path.includes(own))
      .map(({ body }) => Number(JSON.parse(body).aps.badge))
    const [{ badge } = { badge: 0 }] = await watched.sql.run(
      `select badge from user_badges where user_id = ${user.id}`,
    )
    // Setting it once more begins again at the same number.
    const ofEach = Array.from({ length: pushes }, (_, index) => startAt + 1 + index)
    expect(Number(badge)).toBeGreaterThanOrEqual(startAt)
    expect(Number(badge)).toBeLessThanOrEqual(startAt + pushes)
    const before = startAt + pushes - Number(badge)
    const expected = [...ofEach.slice(0, before), ...ofEach.slice(0, pushes - before)]
    expect(shown.sort((a, b) => a - b)).toEqual(expected.sort((a, b) => a - b))
  })

  it('try again what the gateway puts off, and give up what it refuses', async () => {
    const kinds = ['throttle-', 'error-', 'payload-', '']
    const users = await Promise.all(
      kinds.map((prefix) => world.user({ vendor_v: token('vendor_v', prefix) })),
    )
    // One by one, since a refused message is that of its whole request.
    for (const [index, prefix] of kinds.entries()) {
      const taskId = await world.notify({
        audience: toUsers([users[index] as LoginSession]),
        message,
      })
      const isSent = prefix !== 'payload-'
      await world.reaches(taskId, { vendor_v_target: 1, ...(isSent && { vendor_v_sent: 1 }) })
    }
  })

  it('a request that was seen before pushes nothing and answers the first task', async () => {
    const user = await world.user({ vendor_n: token('vendor_n') })
    const body = {
      audience: toUsers([user]),
      setting: { request_id: `request ${++names}` },
      message,
    }
    const taskIds = await Promise.all([1, 2, 3, 4, 5].map(() => world.notify(body)))
    expect(new Set(taskIds).size).toBe(1)
    const [taskId = 0] = taskIds
    await world.reaches(taskId, { vendor_n_target: 1, vendor_n_sent: 1 })
    expect(await world.notify(body)).toBe(taskId)
    const again = await world.notify({ ...body, setting: { request_id: '' } })
    expect(again).not.toBe(taskId)
    await world.reaches(again, { vendor_n_target: 1, vendor_n_sent: 1 })
    await world.reaches(taskId, { vendor_n_target: 1, vendor_n_sent: 1 })
  })

  it('wait for show_begin_time and send nothing after show_end_time, also over a restart', async () => {
    const own = token('vendor_f')
    const user = await world.user({ vendor_f: own })
    const begin = Math.floor(Date.now() / 1_000) + 4
    const timed = (times: Json) =>
      world.notify({ audience: toUsers([user]), message: { ...message, ...times } })
    const late = await timed({ show_begin_time: begin - 1, show_end_time: begin })
    const taskId = await timed({ show_begin_time: begin, show_end_time: 0 })
    await watched.server.stop()
    await waitFor(() => Date.now() >= begin * 1_000, { what: 'the end', timeoutMs: 10_000 })
    await watched.startAgain()
    await world.reaches(taskId, { vendor_f_target: 1, vendor_f_sent: 1 })
    const calls = simulator.gateways.vendor_f.calls.filter(({ body }) => body.includes(own))
    expect(calls).toHaveLength(1)
    expect(calls[0]?.at).toBeGreaterThanOrEqual(begin * 1_000)
    // What a node does first takes IDs of which it has reserved none yet.
    expect(watched.server.output()).not.toContain('job failed')
    await world.isResolved(late)
    expect(await world.counts(late)).toEqual({})
  })

  it('are refused with an end that is past, unless they were there before', async () => {
    const user = await world.user({ vendor_f: token('vendor_f') })
    const body = (end: number, request_id: string) => ({
      audience: toUsers([user]),
      setting: { request_id },
      message: { ...message, show_end_time: end },
    })
    const now = Math.floor(Date.now() / 1_000)
    const ask = (requestId: string) =>
      world.admin.call('POST', '/push/notify', { body: body(now - 1, requestId) })
    for (const requestId of ['', `request ${++names}`])
      expect((await ask(requestId)).envelope).toEqual({
        code: answerCode.invalid_parameter,
        data: null,
        message: 'invalid request parameter: message.show_end_time must be in the future',
      })
    const known = `request ${++names}`
    const taskId = await world.notify(body(now + 3_600, known))
    expect((await ask(known)).envelope).toMatchObject({ code: 200, data: { task_id: taskId } })
    await world.reaches(taskId, { vendor_f_target: 1, vendor_f_sent: 1 })
  })

  it('take what is blank for what is left out', async () => {
    const user = await world.user({ cloud_gw: token('cloud_gw') })
    const taskId = await world.notify({
      audience: toUsers([user]),
      setting: { request_id: '', distribution_strategy: '', ospush_sequence: [] },
      message: {
        ...message,
        type: '',
        badge: '',
        show_begin_time: 0,
        show_end_time: 0,
        cloud_gw: { sound: '', channel_id: '', click_action: '', intent: '' },
      },
    })
    await world.reaches(taskId, { cloud_gw_target: 1, cloud_gw_sent: 1 })
  })

  it('to everybody reach all devices of all users once', async () => {
    const before = simulator.gateways.vendor_h.calls.length
    const users = await Promise.all(
      Array.from({ length: 40 }, () => world.user({ vendor_h: token('vendor_h', 'all-') })),
    )
    const taskId = await world.notify({ audience: 'all', message })
    await waitFor(async () => ((await world.counts(taskId)).vendor_h_sent ?? 0) >= users.length, {
      what: 'all of them',
      timeoutMs: 60_000,
    })
    const told = simulator.gateways.vendor_h.calls
      .slice(before)
      .flatMap(({ path, body }) =>
        path.endsWith('messages:send') ? JSON.parse(body).message.token : [],
      )
      .filter((each: string) => each.startsWith('all-'))
    expect(new Set(told).size).toBe(users.length)
    expect(told).toHaveLength(users.length)
  })

  describe('a bad request', () => {
    const audience = 'all'
    it.each<[string, Json, number, string[]]>([
      ['no audience', { message }, answerCode.invalid_parameter, ['audience is required']],
      ['a blank audience', { audience: '', message }, answerCode.invalid_parameter, ['audience']],
      ['an empty one', { audience: {}, message }, answerCode.invalid_parameter, ['audience must']],
      [
        'two keys',
        { audience: { tag: ['a'], alias: ['b'] }, message },
        answerCode.invalid_parameter,
        ['audience must have only one'],
      ],
      [
        'two keys of which one has a bad value',
        { audience: { tag: [5], alias: ['b'] }, message },
        answerCode.invalid_parameter,
        ['audience.tag[0] must be a string', 'audience must have only one'],
      ],
      ['no message', { audience }, answerCode.invalid_parameter, ['message is required']],
      [
        'a blank message',
        { audience, message: {} },
        answerCode.invalid_parameter,
        ['message must not be blank'],
      ],
      [
        'everything at once',
        {
          audience: { user_id: ['x'] },
          setting: { ospush_sequence: ['ups', 'vendor_z'], distribution_strategy: 'all' },
          message: {
            type: 'video',
            attachment_url: 'https://x.example/a.bmp',
            show_begin_time: 10,
            show_end_time: 9,
            badge: '-1',
            vendor_h: { click_action: 'intent' },
            vendor_v: { push_mode: 2 },
            ext: { text: 'x'.repeat(5_000) },
            ios: { ios_gw_collapse_id: 'Täglich' },
          },
        },
        answerCode.invalid_parameter,
        [
          'audience.user_id[0]',
          'setting.ospush_sequence[1]',
          'setting.distribution_strategy',
          'message.type',
          'message.attachment_url',
          'message.show_end_time',
          'message.badge',
          'message.vendor_h.intent',
          'message.vendor_v.push_mode',
          'message.ext',
          'message.ios.ios_gw_collapse_id must be printable ASCII characters',
        ],
      ],
      ...['user_id', 'tag', 'alias', 'push_token'].map((name): [string, Json, number, string[]] => [
        `501 items of ${name}`,
        {
          audience: { [name]: Array.from({ length: 501 }, (_, index) => `${index + 1}`) },
          message,
        },
        answerCode.audience_too_long,
        [`audience.${name} must have at most 500 items`],
      ]),
      [
        '501 tags and further faults',
        {
          audience: { tag: Array.from({ length: 501 }, () => '') },
          setting: { distribution_strategy: 'fast' },
          message: { title: 5, ext: 'none' },
        },
        answerCode.audience_too_long,
        [
          'audience.tag must have at most 500 items',
          'setting.distribution_strategy must be one of',
          'message.title must be a string',
          'message.ext must be an object',
        ],
      ],
    ])('with %s names it', async (_, body, code, words) => {
      const answer = await world.admin.call('POST', '/push/notify', { body })
      expect(answer.code, answer.text).toBe(code)
      for (const word of words) expect(answer.envelope.message).toContain(word)
    })

    it('for gateways alone is refused where the application has no certificate', async () => {
      const { data } = await world.operator.succeed('POST', '/operator/v1/app/create')
      const other = { appId: data.app_id, token: data.admin_token }
      const ask = (strategy?: string) =>
        world.api.call('POST', '/push/notify', {
          ...other,
          body: { audience, setting: { distribution_strategy: strategy }, message },
        })
      expect((await ask('ospush_only')).envelope).toEqual({
        code: answerCode.push_not_enabled,
        data: null,
        message: expect.any(String),
      })
      for (const strategy of ['combined', 'corepush_only', undefined])
        expect((await ask(strategy)).code).toBe(200)
    })

    it('by a user is refused', async () => {
      const user = await world.user()
      const body = { audience, message }
      await expectCode(user.api.call('POST', '/push/notify', { body }), 'no_permission')
    })
  })
})
