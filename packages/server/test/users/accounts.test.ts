/**
 * Registration, logins, devices, profiles and the state of users, on both databases (rules C6, D0
 * to D2, D4, D6 to D9).
 */
import { registerUser, registerUserForPush } from '@hermod/protocol'
import {
  type Account,
  type Answer,
  type Api,
  anyBackend,
  type Json,
  type Session,
  type TokenData,
} from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'

const password = 'correct horse'
const beyondUsernames = 'username must consist of letters, digits, underscores and CJK ideographs'
const devicesPerUser = 3

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

describe.each(anyBackend())('accounts on $name', (backend) => {
  const server = ownServer(backend, {
    HERMOD_CHECK_ANSWERS: 'on',
    HERMOD_RESERVED_USERNAME_PREFIXES: 'official_,系统',
    HERMOD_DEVICES_PER_USER: String(devicesPerUser),
  })
  let api: Api
  let admin: Api

  beforeAll(async () => {
    api = server.api
    admin = server.api.admin()
  })

  /** Names nobody has, in the order of their registration also by ID. */
  let names = 0
  function newName(prefix = 'user'): string {
    return `${prefix}_${++names}`
  }

  /** An application of its own, for tests that count its users. */
  async function newApp(): Promise<{ appId: string; token: string }> {
    const { data } = await api.as(server.operatorToken).succeed('POST', '/operator/v1/app/create')
    return { appId: data.app_id, token: data.admin_token }
  }

  async function usernamesOf(app: { appId: string; token: string }): Promise<string[]> {
    const { data } = await api.succeed('GET', '/user/list', {
      ...app,
      query: { page_size: 200 },
    })
    return data.map((user: Json) => user.username)
  }

  function register(body: object, path = '/user/register/v2'): Promise<Answer> {
    return api.call('POST', path, { body: { password, ...body } })
  }

  function logIn(user: Pick<Account, 'id'>, more: object = {}): Promise<Answer<TokenData>> {
    return api.call('POST', '/token/id', { body: { user_id: user.id, password, ...more } })
  }

  /** Whether a token opens anything: its code at the profile. */
  async function codeOfToken(token: string): Promise<number> {
    return (await api.as(token).call('GET', '/user/profile')).code
  }

  async function exists(username: string): Promise<boolean> {
    const { code } = await api.call('POST', '/token/user', {
      body: { name: username, password: 'whatever' },
    })
    return code !== answerCode.user_not_found
  }

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
    let app: { appId: string; token: string }
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

  describe('a login', () => {
    it('login: ID, username and login name find the same user, in any letter case', async () => {
      const user = await api.register(newName('Case'))
      const lower = user.username.toLowerCase()
      const logins = [
        await api.succeed('POST', '/token/id', { body: { user_id: user.id, password } }),
        await api.succeed('POST', '/token/id', { body: { user_id: String(user.id), password } }),
        await api.succeed('POST', '/token/user', { body: { name: user.username, password } }),
        await api.succeed('POST', '/token/user', { body: { name: lower, password } }),
        await api.succeed('POST', '/token/login', {
          body: { login_name: user.username, password },
        }),
        await api.succeed('POST', '/token/login', {
          body: { login_name: lower.toUpperCase(), password },
        }),
      ]
      for (const { data } of logins) {
        expect(data.user_id).toBe(user.id)
        const profile = await api.as(data.token).succeed('GET', '/user/profile')
        expect(profile.data).toMatchObject({ user_id: user.id, username: user.username })
      }
      expect(new Set(logins.map(({ data }) => data.token)).size).toBe(logins.length)
    })

    it('login: the answer has a push token for devices only', async () => {
      const user = await api.register()
      const plain = (await logIn(user)).data
      expect(plain).toEqual({
        access_key_secret: expect.stringMatching(/^.{32,}$/),
        encrypt_type: 0,
        expire: expect.any(Number),
        public_key: '',
        store_token: expect.stringMatching(/^.{32,}$/),
        token: expect.stringMatching(/^hmu_[0-9A-Za-z]{43}$/),
        user_id: user.id,
      })
      const days = (plain.expire - Date.now()) / 86_400_000
      expect(days).toBeGreaterThan(29)
      expect(days).toBeLessThan(31)
      const withDevice = (await logIn(user, { device_guid: 'phone' })).data
      expect(Object.keys(withDevice).toSorted()).toEqual(
        [...Object.keys(plain), 'push_token'].toSorted(),
      )
      expect(Object.hasOwn((await logIn(user, { device_guid: '' })).data, 'push_token')).toBe(false)
    })

    it('login: file credentials belong to the user and stay the same', async () => {
      const [user, other] = [await api.register(), await api.register()]
      const [first, second, others] = [
        (await logIn(user)).data,
        (await logIn(user)).data,
        (await logIn(other)).data,
      ]
      const credentials = ({ store_token, access_key_secret }: TokenData) => [
        store_token,
        access_key_secret,
      ]
      expect(credentials(second)).toEqual(credentials(first))
      expect(new Set([...credentials(first), ...credentials(others)]).size).toBe(4)
    })

    it('login: a wrong password is refused without data', async () => {
      const user = await api.register()
      for (const wrong of [
        'x',
        `${password} `,
        password.toUpperCase(),
        password.slice(1),
        '*',
        '%',
        'x'.repeat(128),
      ]) {
        for (const [path, name] of [
          ['/token/id', { user_id: user.id }],
          ['/token/user', { name: user.username }],
          ['/token/login', { login_name: user.username }],
        ] as const) {
          const { status, envelope } = await api.call('POST', path, {
            body: { ...name, password: wrong },
          })
          expect([status, envelope], wrong).toEqual([
            200,
            { code: answerCode.password_incorrect, data: null, message: 'password is incorrect' },
          ])
        }
      }
      await expectCode(logIn(user), 'ok')
    })

    it.each([
      1,
      0,
      -1,
      9007199254740991,
      9007199254740993n,
      9223372036854775807n,
      -9223372036854775808n,
    ])('of the ID %s, which nobody has, finds nobody', async (userId) => {
      const { status, envelope } = await api.call('POST', '/token/id', {
        body: { user_id: userId, password },
      })
      expect([status, envelope]).toEqual([
        200,
        { code: answerCode.user_not_found, data: null, message: 'user does not exist' },
      ])
    })

    it.each([
      'nobody',
      '13812345678',
      '+15551234567',
      '7',
      '9'.repeat(64),
      'someone@example.org',
      '@',
      '%',
      '_%',
      "' or ''='",
    ])('of the name %s, which nobody has, finds nobody', async (name) => {
      expect(await api.call('POST', '/token/user', { body: { name, password } })).toMatchObject({
        status: 200,
        code: answerCode.user_not_found,
      })
      expect(
        await api.call('POST', '/token/login', { body: { login_name: name, password } }),
      ).toMatchObject({
        status: 200,
        code: answerCode.user_not_found,
      })
    })

    it('login: an ID given as a name finds no user', async () => {
      const user = await api.register()
      const login = await api.call('POST', '/token/login', {
        body: { login_name: String(user.id), password },
      })
      expect(login).toMatchObject({ code: answerCode.user_not_found })
    })
  })

  describe('a device', () => {
    const open = async (user: Account, deviceGuid: string) =>
      (await logIn(user, { device_guid: deviceGuid })).data

    it('device: the GUID identifies it, per user', async () => {
      const [user, other] = [await api.register(), await api.register()]
      const [phone, again, tablet, others] = [
        await open(user, 'phone'),
        await open(user, 'phone'),
        await open(user, 'tablet'),
        await open(other, 'phone'),
      ]
      expect(again.push_token).toBe(phone.push_token)
      expect(
        new Set([phone, tablet, others].map(({ push_token: pushToken }) => pushToken)).size,
      ).toBe(3)
      expect(
        await Promise.all([phone, again, tablet, others].map(({ token }) => codeOfToken(token))),
      ).toEqual([200, 200, 200, 200])
    })

    it('device: simultaneous first logins create it once', async () => {
      const user = await api.register()
      const logins = await Promise.all(Array.from({ length: 6 }, () => open(user, 'phone')))
      expect(new Set(logins.map(({ push_token: pushToken }) => pushToken)).size).toBe(1)
      // Had it been made more often, the surplus would have pushed it out.
      expect(await Promise.all(logins.map(({ token }) => codeOfToken(token)))).toEqual(
        Array(6).fill(200),
      )
    })

    it('device: the least recently used one above the limit is removed with its tokens; other tokens stay', async () => {
      const user = await api.register()
      const plain = (await logIn(user)).data
      const first = await open(user, 'first')
      const second = await open(user, 'second')
      const third = await open(user, 'third')
      const firstAgain = await open(user, 'first')
      const secondAgain = await open(user, 'second')
      expect(await codeOfToken(third.token)).toBe(200)
      const fourth = await open(user, 'fourth')
      const stay = [plain, first, firstAgain, second, secondAgain, fourth]
      expect(await Promise.all(stay.map(({ token }) => codeOfToken(token)))).toEqual(
        Array(stay.length).fill(200),
      )
      expect(await codeOfToken(third.token)).toBe(answerCode.token_expired)
      expect((await open(user, 'third')).push_token).not.toBe(third.push_token)
      expect(await codeOfToken(first.token)).toBe(answerCode.token_expired)
      expect(await codeOfToken(second.token)).toBe(200)
    })

    it('device: the GUID is any text of up to 128 characters', async () => {
      const user = await api.register()
      for (const guid of ['😀'.repeat(128), "'; --", '\u{10ffff}'])
        expect(await open(user, guid)).toMatchObject({ push_token: expect.any(String) })
      await expectCode(logIn(user, { device_guid: 'x'.repeat(129) }), 'invalid_parameter')
    })
  })

  describe('a profile', () => {
    const fresh = {
      avatar: '',
      description: '',
      email: '',
      mobile: '',
      nick_name: '',
      private_info: '',
      public_info: '',
    }
    const profileOf = async (session: Session) =>
      (await session.api.succeed('GET', '/user/profile')).data

    it('profile: a new user has an empty one', async () => {
      const session = await api.newLogin()
      expect(await profileOf(session)).toEqual({
        ...fresh,
        user_id: session.id,
        username: session.username,
      })
    })

    it.each(['PUT', 'POST'])(
      'is changed by %s in what is sent and in nothing else',
      async (method) => {
        const [session, other] = [await api.newLogin(), await api.newLogin()]
        const change = (body: object) => session.api.call(method, '/user/profile', { body })
        const all = { description: 'd', nick_name: 'n', private_info: 'p', public_info: 'q' }
        expect(await change(all)).toMatchObject({ status: 200, code: 200, data: true })
        for (const name of Object.keys(all)) {
          await expectCode(
            change({
              [name]: `new ${name}`,
              username: 'other',
              avatar: 'x',
              user_id: other.id,
            }),
            'ok',
          )
          Object.assign(all, { [name]: `new ${name}` })
          expect(await profileOf(session)).toEqual({
            ...fresh,
            ...all,
            user_id: session.id,
            username: session.username,
          })
        }
        await expectCode(change({ nick_name: null, description: '' }), 'ok')
        expect(await profileOf(session)).toMatchObject({ ...all, description: '' })
        expect(await change({})).toMatchObject({ code: 200, data: true })
        expect(await profileOf(session)).toMatchObject({ ...all, description: '' })
        expect(await profileOf(other)).toEqual({
          ...fresh,
          user_id: other.id,
          username: other.username,
        })
      },
    )

    it('profile: fields hold any text up to their length', async () => {
      const session = await api.newLogin()
      const texts = {
        nick_name: '😀'.repeat(256),
        description: '用\n\t"\\ \u2028<b>é\u{10ffff}',
        private_info: '{"a":[1,null]}',
        public_info: 'x'.repeat(8192),
      }
      await session.api.succeed('PUT', '/user/profile', { body: texts })
      expect(await profileOf(session)).toMatchObject(texts)
      const tooLong = await session.api.call('PUT', '/user/profile', {
        body: { nick_name: '😀'.repeat(257), description: 'changed' },
      })
      expect(tooLong).toMatchObject({ status: 200, code: answerCode.invalid_parameter })
      expect(await profileOf(session)).toMatchObject(texts)
    })

    it('profile: simultaneous changes of different fields are all kept', async () => {
      const session = await api.newLogin()
      const changes = { description: 'd', nick_name: 'n', private_info: 'p', public_info: 'q' }
      const calls = Object.entries(changes).map(([name, value]) =>
        session.api.call('PUT', '/user/profile', { body: { [name]: value } }),
      )
      expect((await Promise.all(calls)).map(({ code }) => code)).toEqual([200, 200, 200, 200])
      expect(await profileOf(session)).toMatchObject(changes)
    })

    it('profile: the Admin reads and changes it for the user of the header', async () => {
      const [session, other] = [await api.newLogin(), await api.newLogin()]
      const onBehalf = api.admin({ userId: session.id })
      await onBehalf.succeed('PUT', '/user/profile', { body: { nick_name: 'by the Admin' } })
      await onBehalf.succeed('POST', '/user/profile', { body: { description: 'by the Admin too' } })
      const { data } = await onBehalf.succeed('GET', '/user/profile')
      expect(data).toMatchObject({
        user_id: session.id,
        nick_name: 'by the Admin',
        description: 'by the Admin too',
      })
      expect(await profileOf(session)).toEqual(data)
      expect(await profileOf(other)).toMatchObject(fresh)
      for (const body of [{}, { nick_name: 'x' }]) {
        expect(await api.admin({ userId: 1 }).call('PUT', '/user/profile', { body })).toMatchObject(
          { status: 200, code: answerCode.user_not_found },
        )
      }
    })
  })

  describe('the list of users', () => {
    let app: { appId: string; token: string }
    const all = Array.from(
      { length: 203 },
      (_, index) => `member_${String(index).padStart(3, '0')}`,
    )
    const list = (query: object) =>
      api.call('GET', '/user/list', { ...app, query: query as Record<string, string> })
    const namesOf = async (query: object) =>
      (await list(query)).data.map((user: Json) => user.username)

    beforeAll(async () => {
      app = await newApp()
      const body = { list: all.map((username) => ({ username, password })) }
      const { data } = await api.succeed('POST', '/user/register/batch', { ...app, body })
      expect(data.filter(({ success }: Json) => success)).toHaveLength(all.length)
    })

    it('user list: oldest first, 50 per page by default', async () => {
      const { data } = (await list({})).envelope
      expect(data).toHaveLength(50)
      expect(data[0]).toEqual({ status: 0, user_id: expect.any(Number), username: 'member_000' })
      expect(data.map((user: Json) => user.username)).toEqual(all.slice(0, 50))
      expect(await namesOf({ page_num: 5 })).toEqual(all.slice(200))
    })

    it('user list: each user appears once, for every page size', async () => {
      for (const size of [7, 100, 200]) {
        const pages: string[] = []
        for (let page = 1; page <= Math.ceil(all.length / size) + 1; page++)
          pages.push(...(await namesOf({ page_num: page, page_size: size })))
        expect(pages).toEqual(all)
      }
    })

    it('user list: at most 200 per page', async () => {
      for (const size of [201, 2_147_483_647]) {
        expect(await namesOf({ page_size: size })).toEqual(all.slice(0, 200))
        expect(await namesOf({ page_size: size, page_num: 2 })).toEqual(all.slice(200))
      }
    })

    it('user list: pages after the last one are empty', async () => {
      for (const page of [6, 1_000_000, 2_147_483_647])
        expect(await namesOf({ page_num: page, page_size: 200 })).toEqual([])
    })

    it('user list: a walk by cursor shows every other user when users are deleted between its pages', async () => {
      const size = 50
      const walked: string[] = []
      const deleted: Json[] = []
      for (let cursor = ''; ; ) {
        const { data, envelope } = await list({ cursor, page_size: size })
        walked.push(...data.map((user: Json) => user.username))
        if (envelope.cursor === undefined) break
        cursor = envelope.cursor as string
        await api.admin({ ...app, userId: data[0].user_id }).succeed('POST', '/user/delete')
        deleted.push(data[0].username)
      }
      expect(walked).toEqual(all)
      expect(deleted).toHaveLength(4)
      await expectCode(list({ cursor: 'garbage' }), 'invalid_parameter')
      const { envelope } = await list({ cursor: '1', page_num: 2 })
      expect(envelope.message).toContain('page_num')
    })

    it('user list: it shows disabled users and no users of other applications', async () => {
      const [first, second] = (await list({ page_size: 2 })).data
      await api.succeed('PUT', '/user/disable', {
        ...app,
        body: { list: [second.user_id] },
      })
      expect((await list({ page_size: 2 })).data).toEqual([first, { ...second, status: 1 }])
      const strangers = await admin.call('PUT', '/user/disable', {
        body: { list: [first.user_id] },
      })
      expect(strangers).toMatchObject({ status: 200, code: answerCode.user_not_found })
      expect((await list({ page_size: 1 })).data).toEqual([first])
    })
  })

  describe('disabling users', () => {
    const disable = (list: readonly unknown[]) =>
      admin.call('PUT', '/user/disable', { body: { list } })
    const enable = (list: readonly unknown[]) =>
      admin.call('PUT', '/user/enable', { body: { list } })

    it('disable users: tokens end immediately and logins are refused until enabled', async () => {
      const [first, second, bystander] = [
        await api.newLogin(),
        await api.login(await api.register(), 'phone'),
        await api.newLogin(),
      ]
      const extra = (await logIn(first)).data
      expect(await disable([first.id, String(second.id)])).toMatchObject({
        status: 200,
        code: 200,
        data: true,
      })
      const ended = [first.token, extra.token, second.token]
      expect(await Promise.all(ended.map(codeOfToken))).toEqual([
        answerCode.token_expired,
        answerCode.token_expired,
        answerCode.token_expired,
      ])
      expect(await codeOfToken(bystander.token)).toBe(200)
      for (const user of [first, second]) {
        expect((await logIn(user)).envelope).toEqual({
          code: answerCode.user_disabled,
          data: null,
          message: 'user is disabled',
        })
        await expectCode(logIn(user, { password: 'wrong' }), 'password_incorrect')
      }
      const send = { content: 'hi', content_type: 0, targets: [bystander.id], type: 1 }
      await expectCode(first.api.call('POST', '/message/send', { body: send }), 'token_expired')

      expect(await enable([first.id])).toMatchObject({ status: 200, code: 200, data: true })
      expect(await codeOfToken((await logIn(first)).data.token)).toBe(200)
      expect(await Promise.all(ended.map(codeOfToken))).toEqual([
        answerCode.token_expired,
        answerCode.token_expired,
        answerCode.token_expired,
      ])
      await expectCode(logIn(second), 'user_disabled')
    })

    it('disable users: an unknown user is named and no user changes', async () => {
      const session = await api.newLogin()
      for (const [list, unknown] of [
        [[session.id, 1, 2], '1, 2'],
        [[9223372036854775807n, session.id], '9223372036854775807'],
        [[session.id, 0], '0'],
        [[-1, session.id, session.id], '-1'],
      ] as const) {
        expect((await disable(list)).envelope).toEqual({
          code: answerCode.user_not_found,
          data: null,
          message: `user does not exist: ${unknown}`,
        })
      }
      expect(await codeOfToken(session.token)).toBe(200)
      await disable([session.id])
      await expectCode(enable([session.id, 1]), 'user_not_found')
      await expectCode(logIn(session), 'user_disabled')
    })

    it('disable users: repeats and duplicates are accepted', async () => {
      const user = await api.register()
      for (const [call, code] of [
        [enable, 200],
        [disable, answerCode.user_disabled],
        [disable, answerCode.user_disabled],
        [enable, 200],
      ] as const) {
        expect(await call([user.id, user.id, String(user.id)])).toMatchObject({
          code: 200,
          data: true,
        })
        expect((await logIn(user)).code).toBe(code)
      }
    })

    it('takes 500 and not one more', async () => {
      const user = await api.register()
      await expectCode(disable([user.id, ...Array(499).fill(user.id)]), 'ok')
      await expectCode(enable(Array(501).fill(user.id)), 'invalid_parameter')
      await expectCode(logIn(user), 'user_disabled')
    })

    it('disable users: a simultaneous login leaves no valid token', async () => {
      const user = await api.register()
      const logins = Array.from({ length: 8 }, () => logIn(user, { device_guid: 'phone' }))
      const [, ...answers] = await Promise.all([disable([user.id]), ...logins])
      for (const { code, data } of answers) {
        expect([200, answerCode.user_disabled]).toContain(code)
        if (code === 200) expect(await codeOfToken(data.token)).toBe(answerCode.token_expired)
      }
      await expectCode(logIn(user), 'user_disabled')
    })
  })

  it('the integrity check finds no fault after all tests', async () => {
    const { data } = await api.as(server.operatorToken).succeed('POST', '/operator/v1/check')
    expect(data.faults).toEqual([])
  })
})
