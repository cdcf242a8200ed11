/** Devices, the push tokens bound to them, and the ends of tokens, on both databases (rules C6, D6, D8). */
import {
  type Account,
  type Answer,
  type Api,
  anyBackend,
  type Json,
  type LoginSession,
} from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import type { Sql } from '../support/database/sql.js'
import { ownServer } from '../support/in-process-server.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

const devicesPerUser = 20

describe.each(anyBackend())('devices on $name', (backend) => {
  const server = ownServer(backend)
  let api: Api
  let sql: Sql

  beforeAll(async () => {
    api = server.api
    sql = server.sql
  })

  /** Logs in one after another, each with a device of its own. */
  async function withDevices(count: number): Promise<LoginSession[]> {
    const user = await api.register()
    const sessions: LoginSession[] = []
    for (let index = 1; index <= count; index++)
      sessions.push(await api.login(user, `guid ${index}`))
    return sessions
  }

  async function serialsOf(caller: Api): Promise<number[]> {
    const { data } = await caller.succeed('GET', '/user/device/list')
    return data.map((entry: Json) => entry.device_sn)
  }

  async function versionOf(caller: Api): Promise<number> {
    return (await caller.succeed('GET', '/user/device/list')).version
  }

  /** Their codes at the profile. */
  function codesOfTokens(sessions: readonly LoginSession[]): Promise<number[]> {
    return Promise.all(
      sessions.map(async (session) => (await session.api.call('GET', '/user/profile')).code),
    )
  }

  function bind(
    caller: Api,
    device_sn: number,
    device_token: string,
    notifier_name = 'certificate',
  ): Promise<Answer> {
    return caller.call('POST', '/user/token/bind', {
      body: { device_sn, device_token, notifier_name },
    })
  }

  /** As `user/device_sn/notifier_name/device_token`. */
  async function bindingsOf(...users: readonly Account[]): Promise<string[]> {
    const rows = await sql.run(
      `select user_id, device_sn, notifier_name, device_token from push_bindings where user_id in (${users.map(({ id }) => id).join(', ')})`,
    )
    return rows.map((row) => Object.values(row).join('/')).sort()
  }

  async function storedEvents({ id }: Account): Promise<Json[]> {
    return (await recordedEvents(sql)).filter(({ users }) => users.includes(id))
  }

  async function eventsOf(user: Account): Promise<Json[]> {
    return (await storedEvents(user)).map(({ kind, actor, content }) => [
      kind,
      actor === user.id,
      content,
    ])
  }

  describe('the list', () => {
    it('device list: a user without devices has an empty one', async () => {
      const { api: caller } = await api.newLogin()
      const envelope = await caller.succeed('GET', '/user/device/list')
      expect(envelope).toEqual({ code: 200, data: [], message: null, version: 0 })
    })

    it('device list: own devices by serial number, described by their last login', async () => {
      const user = await api.register()
      const logIn = (device_guid: string, agent: string) =>
        api.succeed('POST', '/token/id', {
          body: { user_id: user.id, password: user.password, device_guid },
          headers: { 'user-agent': agent },
        })
      await logIn('phone', 'Phone/1')
      await logIn('tablet', 'Tablet/1')
      await (await api.newLogin()).api.succeed('GET', '/user/device/list')
      await logIn('phone', 'Phone/2')
      const { data } = await api.admin({ userId: user.id }).succeed('GET', '/user/device/list')
      expect(data).toEqual([
        { device_sn: 1, online: false, platform: 0, user_agent: 'Phone/2', user_id: user.id },
        { device_sn: 2, online: false, platform: 0, user_agent: 'Tablet/1', user_id: user.id },
      ])
    })

    it('device list: its version grows with each change only', async () => {
      const user = await api.register()
      const caller = api.admin({ userId: user.id })
      const logIn = (device_guid: string, agent: string) =>
        api.succeed('POST', '/token/id', {
          body: { user_id: user.id, password: user.password, device_guid },
          headers: { 'user-agent': agent },
        })
      const changes = [
        () => logIn('phone', 'Phone/1'),
        () => logIn('tablet', 'Tablet/1'),
        () => logIn('phone', 'Phone/2'),
        () => caller.succeed('POST', '/user/device/remove', { query: { device_sn: 2 } }),
      ]
      let version = await versionOf(caller)
      for (const change of changes) {
        await change()
        const next = await versionOf(caller)
        expect(next).toBeGreaterThan(version)
        version = next
      }
      await logIn('phone', 'Phone/2')
      await caller.succeed('POST', '/user/kick', { query: { device_sn: 1 } })
      await caller.call('POST', '/user/device/remove', { query: { device_sn: 2 } })
      expect(await versionOf(caller)).toBe(version)
    })
  })

  it('kick: an empty serial number is refused and ends no token', async () => {
    const [first, second] = await withDevices(2)
    if (!first || !second) throw new Error('no sessions')
    for (const options of [{ query: { device_sn: '' } }, { body: { device_sn: '' } }])
      expect((await first.api.call('POST', '/user/kick', options)).envelope).toMatchObject({
        code: answerCode.invalid_parameter,
        message: expect.stringContaining('device_sn must be an integer'),
      })
    for (const { api: own } of [first, second]) await own.succeed('GET', '/user/profile')
  })

  describe('a serial number', () => {
    it('serial number: a GUID keeps its number, and numbers are never reused', async () => {
      const [first, second] = await withDevices(2)
      if (!first || !second) throw new Error('no sessions')
      await api.login(first, 'guid 1')
      expect(await serialsOf(first.api)).toEqual([1, 2])
      await first.api.succeed('POST', '/user/device/remove', { query: { device_sn: 2 } })
      await api.login(first, 'guid 2')
      await api.login(first, 'guid 3')
      expect(await serialsOf(first.api)).toEqual([1, 3, 4])
    })

    it('serial number: simultaneous logins with one new GUID get the same number', async () => {
      const user = await api.register()
      const sessions = await Promise.all(Array.from({ length: 8 }, () => api.login(user, 'phone')))
      expect(await serialsOf(api.admin({ userId: user.id }))).toHaveLength(1)
      expect(await codesOfTokens(sessions)).toEqual(Array(8).fill(200))
      expect((await eventsOf(user)).filter(([kind]) => kind === 'user.device_added')).toHaveLength(
        1,
      )
    })

    it('serial number: simultaneous logins with different GUIDs get different numbers', async () => {
      const user = await api.register()
      const sessions = await Promise.all(
        Array.from({ length: 6 }, (_, index) => api.login(user, `guid ${index}`)),
      )
      expect(await serialsOf(api.admin({ userId: user.id }))).toEqual([1, 2, 3, 4, 5, 6])
      expect(await codesOfTokens(sessions)).toEqual(Array(6).fill(200))
    })
  })

  it('device limit: of more than 20 the least recently used one is removed with its tokens and bindings', async () => {
    const sessions = await withDevices(devicesPerUser)
    const [first, second, third] = sessions as [LoginSession, LoginSession, LoginSession]
    const secondAgain = await api.login(second, 'guid 2')
    const plain = await api.login(first)
    const firstAgain = await api.login(first, 'guid 1')
    for (const device_sn of [2, 3])
      await bind(plain.api, device_sn, `token ${device_sn} of ${first.id}`)
    expect(await codesOfTokens(sessions)).toEqual(Array(devicesPerUser).fill(200))

    const last = await api.login(first, 'one too many')
    expect(await codesOfTokens([third])).toEqual([answerCode.token_expired])
    const others = [first, second, ...sessions.slice(3), secondAgain, firstAgain, plain, last]
    expect(await codesOfTokens(others)).toEqual(Array(others.length).fill(200))
    const serials = await serialsOf(plain.api)
    expect(serials).toEqual([
      1,
      2,
      ...Array.from({ length: devicesPerUser - 2 }, (_, index) => index + 4),
    ])
    expect(await bindingsOf(first)).toEqual([`${first.id}/2/certificate/token 2 of ${first.id}`])
    expect((await eventsOf(first)).slice(-2)).toEqual([
      ['user.device_added', true, '{"device_sn":21}'],
      ['user.device_removed', true, '{"device_sn":3}'],
    ])
  })

  describe('removing a device', () => {
    it.each(['DELETE', 'POST'])(
      'by %s ends its tokens at once, and nothing else',
      async (method) => {
        const [first, second] = (await withDevices(2)) as [LoginSession, LoginSession]
        const [secondAgain, plain, other] = [
          await api.login(second, 'guid 2'),
          await api.login(first),
          await api.newLogin(),
        ]
        await bind(first.api, 1, `kept of ${first.id}`)
        await bind(first.api, 2, `gone of ${first.id}`)
        const answer = await first.api.call(method, '/user/device/remove', {
          query: { device_sn: 2 },
        })
        expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
        expect(await codesOfTokens([second, secondAgain])).toEqual([
          answerCode.token_expired,
          answerCode.token_expired,
        ])
        expect(await codesOfTokens([first, plain, other])).toEqual([200, 200, 200])
        expect(await serialsOf(plain.api)).toEqual([1])
        expect(await bindingsOf(first)).toEqual([`${first.id}/1/certificate/kept of ${first.id}`])
        expect((await eventsOf(first)).at(-1)).toEqual([
          'user.device_removed',
          true,
          '{"device_sn":2}',
        ])
      },
    )

    it('remove device: a device can remove itself', async () => {
      const [session] = (await withDevices(1)) as [LoginSession]
      await session.api.succeed('DELETE', '/user/device/remove', { query: { device_sn: 1 } })
      expect(await codesOfTokens([session])).toEqual([answerCode.token_expired])
      expect(await serialsOf(api.admin({ userId: session.id }))).toEqual([])
    })

    it('remove device: a simultaneous login leaves no valid token', async () => {
      const [session] = (await withDevices(1)) as [LoginSession]
      const caller = api.admin({ userId: session.id })
      const removal = caller.succeed('POST', '/user/device/remove', { query: { device_sn: 1 } })
      const [, ...logins] = await Promise.all([
        removal,
        ...Array.from({ length: 6 }, () => api.login(session, 'guid 1')),
      ])
      const serials = await serialsOf(caller)
      const codes = await codesOfTokens(logins)
      expect(codes.filter((code) => code !== 200 && code !== answerCode.token_expired)).toEqual([])
      expect(serials).toHaveLength(codes.includes(200) ? 1 : 0)
      for (const device_sn of serials)
        await caller.succeed('POST', '/user/device/remove', { query: { device_sn } })
      expect(await codesOfTokens([session, ...logins])).toEqual(
        Array(7).fill(answerCode.token_expired),
      )
    })
  })

  describe('kicking', () => {
    it.each(['PUT', 'POST'])(
      'a device by %s ends its tokens and leaves the device',
      async (method) => {
        const [first, second] = (await withDevices(2)) as [LoginSession, LoginSession]
        const plain = await api.login(first)
        const answer = await first.api.call(method, '/user/kick', { query: { device_sn: 2 } })
        expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
        expect(await codesOfTokens([first, second, plain])).toEqual([
          200,
          answerCode.token_expired,
          200,
        ])
        expect((await eventsOf(first)).at(-1)).toEqual(['user.kicked', true, '{"device_sn":2}'])
        const again = await api.login(second, 'guid 2')
        expect(again.record.push_token).toBe(second.record.push_token)
        expect(await serialsOf(again.api)).toEqual([1, 2])
        expect(await codesOfTokens([second, again])).toEqual([answerCode.token_expired, 200])
      },
    )

    it('kick: without a device it ends all tokens of the user', async () => {
      const sessions = await withDevices(2)
      const [first] = sessions as [LoginSession]
      const [plain, other] = [await api.login(first), await api.newLogin()]
      await bind(plain.api, 1, `token of ${first.id}`)
      await plain.api.succeed('PUT', '/user/kick')
      expect(await codesOfTokens([...sessions, plain])).toEqual([
        answerCode.token_expired,
        answerCode.token_expired,
        answerCode.token_expired,
      ])
      expect(await codesOfTokens([other, await api.login(first)])).toEqual([200, 200])
      expect(await serialsOf(api.admin({ userId: first.id }))).toEqual([1, 2])
      expect(await bindingsOf(first)).toEqual([])
      expect((await eventsOf(first)).at(-1)).toEqual(['user.kicked', true, ''])
    })

    it('kick and remove: events of an Admin token have no actor', async () => {
      const [first] = (await withDevices(2)) as [LoginSession]
      const admin = api.admin({ userId: first.id })
      await admin.succeed('PUT', '/user/kick', { query: { device_sn: 2 } })
      await admin.succeed('POST', '/user/device/remove', { query: { device_sn: 2 } })
      await admin.succeed('PUT', '/user/kick')
      expect((await storedEvents(first)).slice(-3).map(({ kind, actor }) => [kind, actor])).toEqual(
        [
          ['user.kicked', 0],
          ['user.device_removed', 0],
          ['user.kicked', 0],
        ],
      )
    })
  })

  describe('binding a push token', () => {
    it('bind push token: a login without a device belongs to the device from then on', async () => {
      const [first] = (await withDevices(2)) as [LoginSession]
      const plain = await api.login(first)
      await bind(plain.api, 2, `plain of ${first.id}`)
      await bind(plain.api, 1, `other of ${first.id}`)
      await first.api.succeed('PUT', '/user/kick', { query: { device_sn: 2 } })
      expect(await codesOfTokens([first, plain])).toEqual([200, answerCode.token_expired])
      expect(await bindingsOf(first)).toEqual([`${first.id}/1/certificate/other of ${first.id}`])
    })

    it.each([
      ['of a device', 'guid 1', ['1/certificate/token 1']],
      ['without a device', undefined, []],
    ])(
      'change password: with a token %s the push tokens of other devices are silent until their login',
      async (_, guid, kept) => {
        const [first] = (await withDevices(3)) as [LoginSession]
        for (const device_sn of [1, 2, 3])
          await bind(first.api, device_sn, `token ${device_sn} of ${first.id}`)
        const { api: caller } = await api.login(first, guid)
        const new_password = 'another password'
        await caller.succeed('POST', '/user/change_password', {
          body: { old_password: first.password, new_password },
        })
        const named = (bindings: readonly string[]) =>
          bindings.map((binding) => `${first.id}/${binding} of ${first.id}`)
        expect(await bindingsOf(first)).toEqual(named(kept))
        await api.login({ ...first, password: new_password }, 'guid 2')
        expect(await bindingsOf(first)).toEqual(named([...kept, '2/certificate/token 2']))
      },
    )

    it('bind push token: a simultaneous kick of all devices leaves none to a token that ended', async () => {
      const sessions = (await withDevices(3)) as [LoginSession]
      const admin = api.admin({ userId: sessions[0].id })
      const [, ...answers] = await Promise.all([
        admin.succeed('PUT', '/user/kick'),
        ...sessions.map((session, index) =>
          bind(session.api, index + 1, `token ${index} of ${session.id}`),
        ),
      ])
      expect(
        answers.filter(({ code }) => code !== 200 && code !== answerCode.token_expired),
      ).toEqual([])
      expect(await bindingsOf(sessions[0])).toEqual([])
    })

    it.each(['PUT', 'POST'])('by %s keeps one for each certificate of a device', async (method) => {
      const [{ api: caller, ...user }] = (await withDevices(1)) as [LoginSession]
      const bindings = [
        ['old', 'one'],
        ['new', 'one'],
        ['new', 'two'],
        ['new', 'two'],
      ].map(([token, notifier_name]) => ({
        device_sn: 1,
        device_token: `${token} of ${user.id}`,
        notifier_name,
      }))
      for (const body of bindings) {
        const answer = await caller.call(method, '/user/token/bind', { body })
        expect(answer.envelope).toEqual({ code: 200, data: true, message: null })
      }
      expect(await bindingsOf(user)).toEqual([
        `${user.id}/1/one/new of ${user.id}`,
        `${user.id}/1/two/new of ${user.id}`,
      ])
    })

    it('bind push token: of more than 20 certificates of a device the oldest gives way', async () => {
      const [session] = (await withDevices(1)) as [LoginSession]
      for (let index = 1; index <= 22; index++) {
        server.clock.set(server.clock.now() + 10)
        await bind(session.api, 1, `token of ${session.id}`, `certificate ${index}`)
      }
      const bound = (await bindingsOf(session)).map((binding) => binding.split('/')[2])
      const newest = Array.from({ length: 20 }, (_, index) => `certificate ${index + 3}`)
      expect(bound).toEqual(newest.sort())
    })

    it('bind push token: the previous device loses it, whatever its user and certificate', async () => {
      const [first] = (await withDevices(2)) as [LoginSession]
      const [other] = (await withDevices(1)) as [LoginSession]
      const token = `moving of ${first.id}`
      await bind(first.api, 1, token)
      await bind(first.api, 1, `staying of ${first.id}`, 'second')
      await bind(first.api, 2, token)
      expect(await bindingsOf(first)).toEqual([
        `${first.id}/1/second/staying of ${first.id}`,
        `${first.id}/2/certificate/${token}`,
      ])
      await bind(other.api, 1, token, 'another')
      expect(await bindingsOf(first)).toEqual([`${first.id}/1/second/staying of ${first.id}`])
      expect(await bindingsOf(other)).toEqual([`${other.id}/1/another/${token}`])
    })

    it('bind push token: simultaneous binds leave it with one device', async () => {
      const sessions = [...(await withDevices(3)), ...(await withDevices(3))]
      const token = `wanted of ${sessions[0]?.id}`
      const answers = await Promise.all(
        sessions.map((session, index) => bind(session.api, (index % 3) + 1, token)),
      )
      expect(answers.map(({ code }) => code)).toEqual(Array(6).fill(200))
      expect(await bindingsOf(...sessions)).toHaveLength(1)
    })

    it.each(['DELETE', 'POST'])(
      'is undone by %s for all certificates of the device, and also when there is none',
      async (method) => {
        const [{ api: caller, ...user }] = (await withDevices(2)) as [LoginSession]
        await bind(caller, 1, `one of ${user.id}`, 'one')
        await bind(caller, 1, `two of ${user.id}`, 'two')
        await bind(caller, 2, `other of ${user.id}`)
        for (let time = 1; time <= 2; time++) {
          const answer = await caller.call(method, '/user/token/unbind', { query: { deviceSn: 1 } })
          expect(answer.envelope).toEqual({ code: 200, data: {}, message: null })
          expect(await bindingsOf(user)).toEqual([`${user.id}/2/certificate/other of ${user.id}`])
        }
      },
    )

    it.each([
      ['device_token must not be empty', { device_token: '' }],
      ['device_token must have at most 1024 characters', { device_token: 'x'.repeat(1025) }],
      [
        'device_token must be a token without commas, tabs and line breaks',
        { device_token: 'one,two' },
      ],
      ['notifier_name must not be empty', { notifier_name: '' }],
      ['device_sn must be an integer from -2147483648 to 2147483647', { device_sn: 2 ** 31 }],
    ])('is refused where %s', async (fault, bad) => {
      const [session] = (await withDevices(1)) as [LoginSession]
      const body = { device_sn: 1, device_token: 'token', notifier_name: 'certificate', ...bad }
      const { envelope } = await session.api.call('POST', '/user/token/bind', { body })
      expect(envelope).toEqual({
        code: answerCode.invalid_parameter,
        data: null,
        message: `invalid request parameter: ${fault}`,
      })
      expect(await bindingsOf(session)).toEqual([])
    })
  })

  it('every operation refuses serial numbers that the user does not have', async () => {
    const [first] = (await withDevices(2)) as [LoginSession]
    await withDevices(3)
    await first.api.succeed('POST', '/user/device/remove', { query: { device_sn: 2 } })
    for (const sn of [0, -1, 2, 3, 2 ** 31 - 1]) {
      const answers = await Promise.all([
        first.api.call('DELETE', '/user/device/remove', { query: { device_sn: sn } }),
        first.api.call('PUT', '/user/kick', { query: { device_sn: sn } }),
        first.api.call('DELETE', '/user/token/unbind', { query: { deviceSn: sn } }),
        bind(first.api, sn, 'token'),
      ])
      for (const { envelope } of answers) {
        expect(envelope).toEqual({
          code: answerCode.device_not_found,
          data: null,
          message: 'device does not exist',
        })
      }
    }
    expect(await codesOfTokens([first])).toEqual([200])
    expect(await bindingsOf(first)).toEqual([])
  })

  describe('the online status', () => {
    it('online status: a user without a connection is offline', async () => {
      const { api: caller, id } = await api.newLogin()
      expect((await caller.succeed('GET', '/user/online_status')).data).toEqual({ online: false })
      expect((await api.admin({ userId: id }).succeed('GET', '/user/online_status')).data).toEqual({
        online: false,
      })
    })

    it('online status: an unknown user is refused', async () => {
      await expectCode(
        api.admin({ userId: 1 }).call('GET', '/user/online_status'),
        'user_not_found',
      )
    })
  })
})
