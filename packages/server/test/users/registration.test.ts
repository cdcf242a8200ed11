/** Registration of users: plain, with push and of several (rules D0 to D2). */
import { registerUser, registerUserForPush } from '@hermod/protocol'
import { type Api, anyBackend, sharedPassword as password } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { accountCalls, newName, type OwnApp } from '../support/accounts.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'

const beyondUsernames = 'username must consist of letters, digits, underscores and CJK ideographs'

/** All of User settings but id and user_id, as a fresh user has them (rule D7). */
const freshSettings = {
  auth_answer: '',
  auth_mode: 0,
  auth_question: '',
  auto_download: false,
  group_confirm: false,
  no_push: false,
  no_push_detail: false,
  no_push_end_hour: 0,
  no_push_start_hour: 0,
  no_sounds: false,
  push_nick_name: '',
  push_token: '',
  silence_end_time: 0,
  silence_start_time: 0,
  stranger_chat: 0,
  vibratory: false,
}

describe.each(anyBackend())('registration on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_RESERVED_USERNAME_PREFIXES: 'official_,系统' })
  const { exists, logIn, newApp, register, usernamesOf } = accountCalls(server)
  let api: Api

  beforeAll(() => {
    api = server.api
  })

  describe('registration', () => {
    it('register: the answer has the default settings', async () => {
      const { data } = (await register({ username: newName() })).envelope
      expect(data).toEqual({ ...freshSettings, id: data.user_id, user_id: data.user_id })
    })

    it('register: IDs are positive, below 2^53 and ascending', async () => {
      const ids: number[] = []
      for (let count = 0; count < 5; count++) ids.push((await api.register()).id)
      expect(ids.every((id) => Number.isSafeInteger(id) && id > 0)).toBe(true)
      expect(ids).toEqual(ids.toSorted((a, b) => a - b))
      expect(new Set(ids).size).toBe(5)
    })

    it.each(['a', '_', 'A1', '1a', '用户', '用', '張三_2', 'x'.repeat(64), '\u{20BB7}'.repeat(64)])(
      'accepts the username %s',
      async (username) => {
        expect(await register({ username })).toMatchObject({ status: 200, code: 200 })
        const { data } = await api.succeed('POST', '/token/user', {
          body: { name: username, password },
        })
        const profile = await api.as(data.token).succeed('GET', '/user/profile')
        expect(profile.data.username).toBe(username)
      },
    )

    it.each([
      ['7', 'username must contain a character that is not a digit'],
      ['13812345678', 'username must contain a character that is not a digit'],
      ['a b', beyondUsernames],
      ['a@example.org', beyondUsernames],
      ['+15551234567', beyondUsernames],
      ['naïve', beyondUsernames],
      ['😀', beyondUsernames],
      ['a\n', beyondUsernames],
      ["x'; drop table users; --", beyondUsernames],
      ['', 'username must not be empty'],
      ['x'.repeat(65), 'username must have at most 64 characters'],
      ['\u{20BB7}'.repeat(65), 'username must have at most 64 characters'],
      ['official_news', 'username must not start with official_'],
      ['OFFICIAL_news', 'username must not start with official_'],
      ['系统消息', 'username must not start with 系统'],
    ])('refuses the username %j', async (username, text) => {
      for (const path of ['/user/register/v2', '/user/register/push']) {
        const { envelope } = await register({ username }, path)
        expect(envelope).toEqual({
          code: answerCode.invalid_parameter,
          data: null,
          message: `invalid request parameter: ${text}`,
        })
      }
      if (username.length > 0 && username.length <= 64) expect(await exists(username)).toBe(false)
    })

    it.each([
      ['x'.repeat(6), 200],
      ['x'.repeat(128), 200],
      ['😀'.repeat(128), 200],
      [' \t"\\用é ', 200],
      ['x'.repeat(5), answerCode.invalid_parameter],
      ['😀'.repeat(5), answerCode.invalid_parameter],
      ['x'.repeat(129), answerCode.invalid_parameter],
      ['', answerCode.invalid_parameter],
    ])('checks the password %j by its length in characters', async (chosen, code) => {
      const username = newName()
      const answer = await register({ username, password: chosen })
      expect(answer.code).toBe(code)
      if (code === 200)
        await expectCode(
          api.call('POST', '/token/user', { body: { name: username, password: chosen } }),
          'ok',
        )
      else
        expect([answer.envelope.message, await exists(username)]).toEqual([
          expect.stringContaining('password must'),
          false,
        ])
    })

    it('register: one error names the faults of username and password', async () => {
      const { envelope } = await register({ username: '7', password: 'x' })
      expect(envelope.message).toBe(
        'invalid request parameter: username must contain a character that is not a digit; password must have 6 to 128 characters',
      )
    })

    it('register: a taken name is refused in any letter case, with a declared error', async () => {
      const username = newName('Taken')
      const first = await register({ username })
      for (const again of [username, username.toLowerCase(), username.toUpperCase()]) {
        for (const path of ['/user/register/v2', '/user/register/push']) {
          expect((await register({ username: again }, path)).envelope).toEqual({
            code: answerCode.user_exists,
            data: null,
            message: 'user already exists',
          })
        }
      }
      await expectCode(logIn({ id: first.data.user_id }), 'ok')
      expect(registerUser.errors).toContain('user_exists')
      expect(registerUserForPush.errors).toContain('user_exists')
    })

    it('register: simultaneous registrations of one name have one winner', async () => {
      const app = await newApp()
      const variants = ['racer', 'RACER', 'Racer', 'raceR']
      const calls = [...variants, ...variants].map((username, index) =>
        api.call('POST', index % 2 ? '/user/register/v2' : '/user/register/push', {
          appId: app.appId,
          body: { username, password },
        }),
      )
      const codes = (await Promise.all(calls)).map(({ code }) => code)
      expect(codes.toSorted((a, b) => a - b)).toEqual([
        200,
        ...Array(7).fill(answerCode.user_exists),
      ])
      expect(await usernamesOf(app)).toHaveLength(1)
    })
  })

  describe('registration with push', () => {
    const path = '/user/register/push'

    it('register with push: without push fields it is a plain registration', async () => {
      const { data } = (
        await register(
          { username: newName(), alias: undefined, device_guid: '', push_token: '' },
          path,
        )
      ).envelope
      expect(data).toEqual({ ...freshSettings, id: data.user_id, user_id: data.user_id })
    })

    it('register with push: an empty alias is not bound', async () => {
      for (let time = 0; time < 2; time++)
        expect((await register({ username: newName(), alias: '' }, path)).envelope).toMatchObject({
          code: 200,
        })
    })

    it('register with push: it creates a device and answers its lasting push token', async () => {
      const { data } = (await register({ username: newName(), device_guid: 'phone' }, path))
        .envelope
      expect(data.push_token).not.toBe('')
      expect((await logIn({ id: data.user_id }, { device_guid: 'phone' })).data.push_token).toBe(
        data.push_token,
      )
      expect(
        (await logIn({ id: data.user_id }, { device_guid: 'tablet' })).data.push_token,
      ).not.toBe(data.push_token)
    })

    it('register with push: the push token of the device is bound', async () => {
      const brought = `push_${newName()}`
      const { data } = (
        await register({ username: newName(), device_guid: 'phone', push_token: brought }, path)
      ).envelope
      expect(data.push_token).toBe(brought)
      expect((await logIn({ id: data.user_id }, { device_guid: 'phone' })).data.push_token).toBe(
        brought,
      )
    })

    it('register with push: a taken alias creates no user', async () => {
      const app = await newApp()
      const registerHere = (username: string, alias: string) =>
        api.call('POST', path, {
          appId: app.appId,
          body: { username, password, alias, device_guid: 'phone', push_token: 'brought' },
        })
      await expectCode(registerHere('first', 'the_alias'), 'ok')
      expect((await registerHere('second', 'the_alias')).envelope).toEqual({
        code: answerCode.push_alias_taken,
        data: null,
        message: 'push alias is bound to another user',
      })
      expect(await usernamesOf(app)).toEqual(['first'])
      await expectCode(registerHere('second', 'another_alias'), 'ok')
      expect(await usernamesOf(app)).toEqual(['first', 'second'])
    })

    it('register with push: a taken name leaves the alias free', async () => {
      const [username, alias] = [newName(), newName('alias')]
      await register({ username }, path)
      await expectCode(register({ username, alias }, path), 'user_exists')
      await expectCode(register({ username: newName(), alias }, path), 'ok')
    })

    it('register with push: simultaneous registrations with one alias have one winner', async () => {
      const app = await newApp()
      const calls = Array.from({ length: 6 }, (_, index) =>
        api.call('POST', path, {
          appId: app.appId,
          body: { username: `racer_${index}`, password, alias: 'prize' },
        }),
      )
      const codes = (await Promise.all(calls)).map(({ code }) => code)
      expect(codes.toSorted((a, b) => a - b)).toEqual([
        200,
        ...Array(5).fill(answerCode.push_alias_taken),
      ])
      expect(await usernamesOf(app)).toHaveLength(1)
    })

    it('register with push: aliases are per application and case-sensitive', async () => {
      const alias = newName('alias')
      const { appId } = await newApp()
      await expectCode(register({ username: newName(), alias }, path), 'ok')
      await expectCode(register({ username: newName(), alias: alias.toUpperCase() }, path), 'ok')
      await expectCode(
        api.call('POST', path, { appId, body: { username: newName(), password, alias } }),
        'ok',
      )
    })

    it('register with push: applications without a registration secret ignore the sign', async () => {
      await expectCode(register({ username: newName(), sign: 'nonsense' }, path), 'ok')
    })
  })

  describe('registration of several', () => {
    let app: OwnApp
    const registerAll = (list: unknown) =>
      api.call('POST', '/user/register/batch', { ...app, body: { list } })

    beforeAll(async () => {
      app = await newApp()
    })

    it('register batch: each entry is checked independently, results keep the order', async () => {
      await registerAll([{ username: 'early', password }])
      const { status, envelope } = await registerAll([
        { username: 'first', password },
        { username: 'FIRST', password },
        { username: 'Early', password },
        { username: '7', password: 'x' },
        { username: 'late', password: 'x' },
        { username: 'late', password },
        { username: 'official_one', password },
        { username: 5, password },
        { username: 'lonely' },
        null,
        'text',
        {},
        { username: 'x'.repeat(65), password },
        { username: 'last', password, role: 'admin', user_id: 1 },
      ])
      const bad = (text: string, username: string) => ({
        user_id: 0,
        success: false,
        reason: `invalid request parameter: ${text}`,
        username,
      })
      const good = (username: string) => ({ user_id: expect.any(Number), success: true, username })
      const taken = (username: string) => ({
        user_id: 0,
        success: false,
        reason: 'user already exists',
        username,
      })
      expect([status, envelope.code, envelope.message]).toEqual([200, 200, null])
      expect(envelope.data).toEqual([
        good('first'),
        taken('FIRST'),
        taken('Early'),
        bad(
          'username must contain a character that is not a digit; password must have 6 to 128 characters',
          '7',
        ),
        bad('password must have 6 to 128 characters', 'late'),
        good('late'),
        bad('username must not start with official_', 'official_one'),
        bad('username must be a string', ''),
        bad('password is required', 'lonely'),
        bad('must be an object', ''),
        bad('must be an object', ''),
        bad('username is required; password is required', ''),
        bad('username must have at most 64 characters', 'x'.repeat(65)),
        good('last'),
      ])
      for (const entry of envelope.data) expect(Object.hasOwn(entry, 'reason')).toBe(!entry.success)
      expect(await usernamesOf(app)).toEqual(['early', 'first', 'late', 'last'])
      const { data } = await api.succeed('POST', '/token/user', {
        appId: app.appId,
        body: { name: 'late', password },
      })
      expect(data.user_id).toBe(envelope.data[5].user_id)
    })

    it.each([{}, { list: [] }, { list: null }, { list: '' }])(
      'of none answers none: %j',
      async (body) => {
        expect(await api.call('POST', '/user/register/batch', { ...app, body })).toMatchObject({
          code: 200,
          data: [],
        })
      },
    )

    it('takes 500 and not one more', async () => {
      const before = await usernamesOf(app)
      const most = await registerAll(Array(500).fill({ username: '7', password }))
      expect([most.code, most.data.length]).toEqual([200, 500])
      const { envelope } = await registerAll([
        ...Array(500).fill({ username: '7', password }),
        { username: 'one_too_many', password },
      ])
      expect(envelope).toEqual({
        code: answerCode.invalid_parameter,
        data: null,
        message: 'invalid request parameter: list must have at most 500 items',
      })
      expect(await usernamesOf(app)).toEqual(before)
    })

    it('register batch: each name goes to one of two simultaneous batches', async () => {
      const list = Array.from({ length: 8 }, (_, index) => ({
        username: `twin_${index}`,
        password,
      }))
      const answers = await Promise.all([
        registerAll(list),
        registerAll(list.toReversed()),
        registerAll(list),
      ])
      const results = answers.flatMap(
        ({ data }) => data as { username: string; success: boolean }[],
      )
      expect(results).toHaveLength(24)
      for (const { username } of list) {
        expect(
          results.filter((result) => result.username === username && result.success),
          username,
        ).toHaveLength(1)
      }
      const twins = (await usernamesOf(app)).filter((username) => username.startsWith('twin_'))
      expect(twins.toSorted()).toEqual(list.map(({ username }) => username))
    })
  })
})
