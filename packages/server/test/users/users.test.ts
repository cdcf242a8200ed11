/**
 * Profiles, names, passwords and nameless registration, on both databases (rules B4, C6a, D1, D3,
 * D8, D9).
 */
import {
  type Answer,
  type Api,
  anyBackend,
  type CallOptions,
  type Json,
  type Session,
} from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

const password = 'correct horse'
const otherPassword = 'battery staple'
const unknownId = 1

describe.each(anyBackend())('users on $name', (backend) => {
  const server = ownServer(backend, {
    HERMOD_RESERVED_USERNAME_PREFIXES: 'official_',
  })
  let api: Api
  let alice: Session
  let bob: Session

  beforeAll(async () => {
    api = server.api
  })

  beforeEach(async () => {
    alice = await api.newSession()
    bob = await api.newSession()
  })

  let names = 0
  function newName(prefix = 'user'): string {
    return `${prefix}_${++names}`
  }

  async function profileOf(session: Session): Promise<Json> {
    return (await api.admin({ userId: session.id }).succeed('GET', '/user/profile')).data
  }

  function refuses(answer: Answer, field: string): void {
    expect(answer).toMatchObject({ status: 200, code: answerCode.invalid_parameter, data: null })
    expect(answer.envelope.message).toContain(`${field} must`)
  }

  function logIn(body: object, path = '/token/login'): Promise<Answer> {
    return api.call('POST', path, { body: { password, ...body } })
  }

  async function codeOfToken(token: string): Promise<number> {
    return (await api.as(token).call('GET', '/user/profile')).code
  }

  /** The kinds of the events about a user, oldest first, with who caused them. */
  async function eventsAbout(
    userId: number,
  ): Promise<{ kind: string; actor: number; content: string }[]> {
    return (await recordedEvents(server.sql))
      .filter(({ users }) => users.includes(userId))
      .map(({ kind, actor, content }) => ({ kind, actor, content }))
  }

  describe('a profile', () => {
    it.each([
      ['/user/avatar', { avatar: 'https://example.org/a.png?x=1' }],
      ['/user/avatar', { avatar: '/static/a.png' }],
      ['/user/avatar', { avatar: 'HTTPS://example.org/a.png' }],
      ['/user/avatar', { avatar: 'ftp://example.org/a..png' }],
      ['/user/avatar', { avatar: 'Bilder/größtes Bild.png' }],
      ['/user/avatar', { avatar: 'avatars/3f2c.png' }],
      ['/user/nickname', { nick_name: 'Alice in 仙境 👑' }],
      ['/user/mobile', { mobile: '+4915112345678' }],
      ['/user/email', { email: 'alice@example.org' }],
      ['/user/username', { username: 'a_new_name' }],
    ])('is changed at %s to %o', async (path, change) => {
      const before = await profileOf(alice)
      await alice.api.succeed('PUT', path, { body: change })
      expect(await profileOf(alice)).toEqual({ ...before, ...change })
      // Also by the other method, for somebody, in the query; what is unique is freed first.
      const [[name, value]] = Object.entries(change) as [[string, string]]
      await api.admin({ userId: alice.id }).succeed('POST', '/user/delete')
      await api.admin({ userId: bob.id }).succeed('POST', path, { query: { [name]: value } })
      expect(await profileOf(bob)).toMatchObject(change)
      await api.admin({ userId: bob.id }).succeed('POST', '/user/delete')
    })

    it('loses its avatar to an empty one', async () => {
      await alice.api.succeed('POST', '/user/avatar', { body: { avatar: 'a.png' } })
      await alice.api.succeed('POST', '/user/avatar', { body: { avatar: '' } })
      expect(await profileOf(alice)).toMatchObject({ avatar: '' })
    })

    it.each([
      'javascript:alert(1)',
      'data:text/html,x',
      'JavaScript:alert(1)',
      ' vbscript:x',
      'a\tb',
      'a\\b',
      '../../a.png',
      'a/../b.png',
      'https://example.org/..',
      '/..?x',
      'x'.repeat(2049),
    ])('takes no avatar that is code or leaves its place: %s', async (avatar) => {
      refuses(await alice.api.call('POST', '/user/avatar', { body: { avatar } }), 'avatar')
      expect(await profileOf(alice)).toMatchObject({ avatar: '' })
    })

    it.each(['a\nb', 'a\u0007b', '\u0085', 'a\u2029b'])(
      'takes no nickname with control characters',
      async (nick_name) => {
        refuses(
          await alice.api.call('POST', '/user/nickname', { body: { nick_name } }),
          'nick_name',
        )
        refuses(
          await alice.api.call('POST', '/user/profile', { body: { nick_name, description: 'x' } }),
          'nick_name',
        )
        expect(await profileOf(alice)).toMatchObject({ nick_name: '', description: '' })
      },
    )

    it.each([
      ['/user/private', 'private_info'],
      ['/user/public', 'public_info'],
    ])('takes the whole body of %s', async (path, name) => {
      const forms: [CallOptions, string][] = [
        [
          { rawBody: 'line 1\nline 2', headers: { 'content-type': 'text/plain' } },
          'line 1\nline 2',
        ],
        [{ rawBody: '"quoted"' }, 'quoted'],
        [{ body: { [name]: 'wrapped' } }, 'wrapped'],
        [{ body: { value: 'wrapped too' } }, 'wrapped too'],
        // JSON that is no wrapper is the text, byte for byte.
        [{ rawBody: '{ "info": "kept" }' }, '{ "info": "kept" }'],
        [{ rawBody: '{"a":1.50,"b":[]}' }, '{"a":1.50,"b":[]}'],
        [{ rawBody: '[1, 2]' }, '[1, 2]'],
        [{ rawBody: '18446744073709551616' }, '18446744073709551616'],
        [{ rawBody: '{"a":1,"b":2}', headers: { 'content-type': 'text/plain' } }, '{"a":1,"b":2}'],
        [{ rawBody: '""' }, ''],
      ]
      for (const [form, text] of forms) {
        await alice.api.succeed('PUT', path, form)
        expect(await profileOf(alice)).toMatchObject({ [name]: text })
      }
      expect(await alice.api.call('POST', path)).toMatchObject({
        code: answerCode.invalid_parameter,
      })
      expect(
        await alice.api.call('POST', path, { rawBody: JSON.stringify('x'.repeat(8193)) }),
      ).toMatchObject({ code: answerCode.invalid_parameter })
    })

    it('tells others of changed fields by their names and not by their values', async () => {
      await alice.api.succeed('POST', '/user/profile', {
        body: { nick_name: 'secret', description: 'secret' },
      })
      await api
        .admin({ userId: alice.id })
        .succeed('POST', '/user/mobile', { body: { mobile: '+4915100000001' } })
      const kind = 'user.info_updated'
      expect(await eventsAbout(alice.id)).toEqual([
        {
          kind,
          actor: alice.id,
          content: JSON.stringify({ properties: ['description', 'nick_name'] }),
        },
        { kind, actor: 0, content: JSON.stringify({ properties: ['mobile'] }) },
      ])
    })
  })

  describe('several profiles', () => {
    const paths = ['/user/profile/batch', '/user/avatar/batch'] as const
    const fields = { '/user/profile/batch': 'description', '/user/avatar/batch': 'avatar' } as const

    it.each(paths)('are changed at %s by an Admin token, each checked alone', async (path) => {
      const field = fields[path]
      const gone = await api.register()
      await api.admin({ userId: gone.id }).succeed('POST', '/user/delete')
      const list = [
        { user_id: bob.id, [field]: 'b' },
        { user_id: unknownId, [field]: 'x' },
        { user_id: alice.id, [field]: 'a' },
        { user_id: gone.id, [field]: 'x' },
        { user_id: 'nobody', [field]: 'x' },
        'no object',
        { user_id: bob.id, [field]: 'c' },
      ]
      const { data } = await api.admin().succeed('POST', path, { body: { list } })
      expect(data.map(({ user_id, success }: Json) => [user_id, success])).toEqual([
        [bob.id, true],
        [unknownId, false],
        [alice.id, true],
        [gone.id, false],
        [0, false],
        [0, false],
        [bob.id, true],
      ])
      expect(data[1].reason).toBe('user does not exist')
      expect(data[3].reason).toBe('user has been deregistered')
      expect(data[4].reason).toContain('user_id must')
      expect('reason' in data[0]).toBe(false)
      expect(await profileOf(alice)).toMatchObject({ [field]: 'a' })
      expect(await profileOf(bob)).toMatchObject({ [field]: 'c' })
    })

    it.each(paths)('are changed at %s by a user token for its own user only', async (path) => {
      const field = fields[path]
      const own = [{ user_id: alice.id, [field]: 'mine' }]
      const { data } = await alice.api.succeed('PUT', path, {
        body: { list: [{ user_id: bob.id, [field]: 'x' }, ...own] },
      })
      expect(data).toEqual([
        { user_id: bob.id, success: false, reason: 'no permission' },
        { user_id: alice.id, success: true },
      ])
      expect([await profileOf(alice), await profileOf(bob)]).toMatchObject([
        { [field]: 'mine' },
        { [field]: '' },
      ])
    })

    it.each(paths)('are at most 500 at %s, and may be none', async (path) => {
      const entry = { user_id: alice.id, [fields[path]]: 'x' }
      refuses(
        await alice.api.call('POST', path, { body: { list: Array(501).fill(entry) } }),
        'list',
      )
      expect(
        (await alice.api.succeed('POST', path, { body: { list: Array(500).fill(entry) } })).data,
      ).toHaveLength(500)
      expect((await alice.api.succeed('POST', path, { body: {} })).data).toEqual([])
    })

    it('mean the caller where no user is named', async () => {
      const list = [{ nick_name: 'me' }, { nick_name: 'a\nb' }, {}]
      const results = async (caller: Api) =>
        (await caller.succeed('POST', '/user/profile/batch', { body: { list } })).data
      const expected = [
        { user_id: alice.id, success: true },
        { user_id: alice.id, success: false, reason: expect.stringContaining('nick_name must') },
        { user_id: alice.id, success: true },
      ]
      expect(await results(alice.api)).toEqual(expected)
      expect(await results(api.admin({ userId: alice.id }))).toEqual(expected)
      expect(
        (await results(api.admin())).map(({ success, reason }: Json) => [success, reason]),
      ).toEqual(Array(3).fill([false, expect.stringContaining('user_id is required')]))
      expect(await profileOf(alice)).toMatchObject({ nick_name: 'me' })
    })

    it('are changed by crossing lists at once without an error', async () => {
      const sessions = await Promise.all(Array.from({ length: 12 }, () => api.register()))
      const list = sessions.map(({ id }) => ({ user_id: id, description: 'x' }))
      const answers = await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          api.admin().succeed('POST', '/user/profile/batch', {
            body: { list: index % 2 ? list : list.toReversed() },
          }),
        ),
      )
      expect(answers.flatMap(({ data }) => data).every(({ success }: Json) => success)).toBe(true)
    })
  })

  describe('what is unique', () => {
    it.each([
      ['mobile', '+4915112345999', answerCode.mobile_taken],
      ['email', 'taken@example.org', answerCode.email_taken],
      ['username', 'Taken_Name', answerCode.username_taken],
    ])('belongs to one user: %s', async (field, value, taken) => {
      const set = (session: Session, text = value) =>
        session.api.call('POST', `/user/${field}`, { body: { [field]: text } })
      expect(await set(alice)).toMatchObject({ code: 200 })
      expect(await set(bob)).toMatchObject({ status: 200, code: taken, data: null })
      expect((await profileOf(bob))[field]).not.toBe(value)
      expect(await set(alice)).toMatchObject({ code: 200 })
      expect((await logIn({ login_name: value })).data).toMatchObject({ user_id: alice.id })
      if (field === 'username') {
        expect(await set(bob, 'tAKEN_nAME')).toMatchObject({ code: taken })
        expect(await set(alice, 'taken_name')).toMatchObject({ code: 200 })
        expect(await profileOf(alice)).toMatchObject({ username: 'taken_name' })
      }
      if (field === 'email') {
        expect(await set(bob, 'Taken@Example.org')).toMatchObject({ code: taken })
        expect(await set(alice, 'TAKEN@example.ORG')).toMatchObject({ code: 200 })
        expect(await profileOf(alice)).toMatchObject({ email: 'TAKEN@example.ORG' })
        expect((await logIn({ login_name: 'tAkEn@eXample.org' })).data).toMatchObject({
          user_id: alice.id,
        })
      }
      await api.admin({ userId: alice.id }).succeed('POST', '/user/delete')
      expect(await set(bob)).toMatchObject({ code: 200 })
      expect((await logIn({ login_name: value })).data).toMatchObject({ user_id: bob.id })
    })

    it('may be the same in another application', async () => {
      const { data: app } = await api
        .as(server.operatorToken)
        .succeed('POST', '/operator/v1/app/create')
      const other = { appId: app.app_id, token: app.admin_token }
      const { data: user } = await api.succeed('POST', '/user/register/v2', {
        ...other,
        body: { username: 'twin', password },
      })
      for (const body of [
        { mobile: '+4915155555555' },
        { email: 'twin@example.org' },
        { username: 'twin_2' },
      ]) {
        const [field] = Object.keys(body) as [string]
        await alice.api.succeed('POST', `/user/${field}`, { body })
        await api.succeed('POST', `/user/${field}`, { ...other, userId: user.user_id, body })
      }
    })

    it('goes to exactly one of those who ask at once', async () => {
      const sessions = await Promise.all(Array.from({ length: 6 }, () => api.newLogin()))
      for (const [field, taken] of [
        ['mobile', answerCode.mobile_taken],
        ['username', answerCode.username_taken],
      ] as const) {
        const value = field === 'mobile' ? '+4915177777777' : newName('wanted')
        const codes = await Promise.all(
          sessions.map(
            async (session) =>
              (await session.api.call('POST', `/user/${field}`, { body: { [field]: value } })).code,
          ),
        )
        expect(codes.toSorted((a, b) => a - b)).toEqual([200, ...Array(5).fill(taken)])
      }
    })

    it('a domestic mobile number is one number with and without +86, and reads back as it was written', async () => {
      const domestic = '13800138001'
      const full = `+86${domestic}`
      const set = (session: Session, mobile: string) =>
        session.api.call('POST', '/user/mobile', { body: { mobile } })
      expect(await set(alice, domestic)).toMatchObject({ code: 200 })
      expect(await set(bob, full)).toMatchObject({ code: answerCode.mobile_taken })
      for (const login_name of [domestic, full])
        expect((await logIn({ login_name })).data).toMatchObject({ user_id: alice.id })
      const found = await bob.api.succeed('GET', '/roster/mobile', { query: { mobile: full } })
      expect(found.data).toMatchObject({ user_id: alice.id })
      expect(await profileOf(alice)).toMatchObject({ mobile: domestic })
      expect(await set(alice, full)).toMatchObject({ code: 200 })
      expect(await profileOf(alice)).toMatchObject({ mobile: full })
      await set(alice, '')
      expect(await set(bob, domestic)).toMatchObject({ code: 200 })
    })

    it.each([
      ['mobile', '12345'],
      ['mobile', '+1234567890123456'],
      ['email', 'no address'],
      ['username', 'two words'],
      ['username', '12345'],
      ['username', 'official_me'],
      ['username', 'x'.repeat(65)],
    ])('must be well-formed: %s %s', async (field, value) => {
      const before = await profileOf(alice)
      const answer = await alice.api.call('POST', `/user/${field}`, { body: { [field]: value } })
      refuses(answer, field)
      // A sentence, no regular expression.
      expect(answer.envelope.message).not.toMatch(/[\^$[\]{}\\]/)
      expect(await profileOf(alice)).toEqual(before)
    })

    it.each([
      ['mobile', '+4915112121212'],
      ['email', 'Gone@example.org'],
    ])('is cleared by "" and free again: %s', async (field, value) => {
      const set = (session: Session, text: string) =>
        session.api.succeed('POST', `/user/${field}`, { body: { [field]: text } })
      await set(alice, value)
      expect((await profileOf(alice))[field]).toBe(value)
      await set(alice, '')
      expect((await profileOf(alice))[field]).toBe('')
      expect((await logIn({ login_name: value })).code).not.toBe(200)
      await set(bob, value)
      await set(alice, '')
      expect((await profileOf(bob))[field]).toBe(value)
    })

    it('is free or not before anybody registers', async () => {
      const check = (username: string) =>
        api.call('GET', '/app/user/name_check', { query: { username } })
      const username = newName('Free')
      expect(await check(username)).toMatchObject({ code: 200, data: true })
      await api.register(username)
      expect(await check(username.toLowerCase())).toMatchObject({ code: 200, data: false })
      for (const bad of ['two words', '123', 'official_x', 'x'.repeat(65)])
        refuses(await check(bad), 'username')
    })
  })

  describe('a password', () => {
    const change = (session: Session, body: object) =>
      session.api.call('POST', '/user/change_password', {
        body: { old_password: password, new_password: otherPassword, ...body },
      })

    it('is changed by its user, and all tokens but the used one end', async () => {
      const other = await api.login(alice, 'phone')
      expect(await change(alice, {})).toMatchObject({ code: 200, data: true })
      expect([
        await codeOfToken(alice.token),
        await codeOfToken(other.token),
        await codeOfToken(bob.token),
      ]).toEqual([200, answerCode.token_expired, 200])
      expect(await logIn({ user_id: alice.id }, '/token/id')).toMatchObject({
        code: answerCode.password_incorrect,
      })
      expect(
        await logIn({ user_id: alice.id, password: otherPassword }, '/token/id'),
      ).toMatchObject({ code: 200 })
      expect(await eventsAbout(alice.id)).toContainEqual({
        kind: 'user.password_changed',
        actor: alice.id,
        content: '',
      })
    })

    it('takes the file credentials with it', async () => {
      const { record: before } = await api.login(alice)
      await change(alice, {})
      const { record } = await api.login({ ...alice, password: otherPassword })
      expect(record.store_token).not.toBe(before.store_token)
      expect(record.access_key_secret).not.toBe(before.access_key_secret)
    })

    it('stays when the old one is wrong or the new one too short', async () => {
      expect(await change(alice, { old_password: 'wrong one' })).toMatchObject({
        status: 200,
        code: answerCode.password_incorrect,
        data: null,
      })
      refuses(await change(alice, { new_password: '12345' }), 'new_password')
      expect(await logIn({ user_id: alice.id }, '/token/id')).toMatchObject({ code: 200 })
      expect(await codeOfToken(alice.token)).toBe(200)
    })

    it('is changed once when two change it at once', async () => {
      const second = await api.login(alice)
      const answers = await Promise.all([
        change(alice, { new_password: 'first one' }),
        change(second, { new_password: 'second one' }),
      ])
      expect(answers.map(({ code }) => code).sort()).not.toEqual([200, 200])
      const winner = answers.findIndex(({ code }) => code === 200)
      expect(winner).toBeGreaterThanOrEqual(0)
      expect(
        await logIn(
          { user_id: alice.id, password: ['first one', 'second one'][winner] },
          '/token/id',
        ),
      ).toMatchObject({ code: 200 })
    })

    it('leaves no login behind that was under way with the old one', async () => {
      const logins = Array.from({ length: 6 }, () => logIn({ user_id: alice.id }, '/token/id'))
      await change(alice, {})
      const tokens = (await Promise.all(logins))
        .filter(({ code }) => code === 200)
        .map(({ data }) => data.token)
      for (const token of tokens) expect(await codeOfToken(token)).toBe(answerCode.token_expired)
    })

    it('is changed by an Admin token with the old one, which names nobody as the one who did it', async () => {
      await api.admin({ userId: alice.id }).succeed('POST', '/user/change_password', {
        body: { old_password: password, new_password: otherPassword },
      })
      expect(await eventsAbout(alice.id)).toContainEqual({
        kind: 'user.password_changed',
        actor: 0,
        content: '',
      })
    })

    it('is set by an Admin token for the user of the header, and all tokens of that user end', async () => {
      const reset = (caller: Api, body: object = { password: otherPassword }) =>
        caller.call('POST', '/user/change_password_admin', { body })
      expect(await reset(alice.api)).toMatchObject({ code: answerCode.no_permission })
      refuses(await reset(api.admin({ userId: alice.id }), { password: '12345' }), 'password')
      expect(await reset(api.admin())).toMatchObject({ code: answerCode.invalid_parameter })
      expect(await reset(api.admin({ userId: unknownId }))).toMatchObject({
        code: answerCode.user_not_found,
      })
      expect(await codeOfToken(alice.token)).toBe(200)
      expect(await reset(api.admin({ userId: alice.id }))).toMatchObject({ code: 200, data: true })
      expect([await codeOfToken(alice.token), await codeOfToken(bob.token)]).toEqual([
        answerCode.token_expired,
        200,
      ])
      expect(
        await logIn({ user_id: alice.id, password: otherPassword }, '/token/id'),
      ).toMatchObject({ code: 200 })
      expect(await eventsAbout(alice.id)).toContainEqual({
        kind: 'user.password_changed',
        actor: 0,
        content: '',
      })
    })
  })

  it('get to know that they are banned', async () => {
    await api.admin().succeed('PUT', '/user/disable', { body: { list: [alice.id] } })
    await api.admin().succeed('PUT', '/user/disable', { body: { list: [alice.id, bob.id] } })
    expect(await eventsAbout(alice.id)).toEqual([{ kind: 'user.frozen', actor: 0, content: '' }])
    expect(await eventsAbout(bob.id)).toEqual([{ kind: 'user.frozen', actor: 0, content: '' }])
  })

  describe('nameless registration', () => {
    const registerAs = (body: object, options: CallOptions = {}) =>
      api.call('POST', '/user/register/anonymous', { body: { password, ...body }, ...options })

    it('makes a name that nobody has out of the prefix', async () => {
      const answers = await Promise.all(
        Array.from({ length: 5 }, () => registerAs({ username: 'guest' })),
      )
      const users = answers.map(({ data }) => data)
      expect(new Set(users.map(({ username }) => username)).size).toBe(5)
      for (const { user_id, username } of users) {
        expect(username).toMatch(/^guest_[a-z0-9]+$/)
        expect((await logIn({ name: username }, '/token/user')).data).toMatchObject({ user_id })
      }
    })

    it.each([['two words'], ['x'.repeat(41)], [''], ['official']])(
      'refuses the prefix %s',
      async (username) => {
        refuses(await registerAs({ username }), 'username')
      },
    )

    const contactsOf = async (caller: Api) => (await caller.succeed('GET', '/roster/list')).data
    const asks = (mode: number) =>
      bob.api.succeed('POST', '/user/settings', {
        body: { user_id: bob.id, auth_mode: mode, auth_question: 'who?', auth_answer: 'me' },
      })

    it('makes contacts of both at once where nobody wants to be asked', async () => {
      const { data } = await registerAs({ username: 'guest', cid: bob.id })
      expect(await contactsOf(bob.api)).toEqual([data.user_id])
      expect(await contactsOf(api.admin({ userId: data.user_id }))).toEqual([bob.id])
    })

    it('asks a user who wants to be asked', async () => {
      await asks(1)
      const { data } = await registerAs({ username: 'guest', cid: bob.id })
      expect(await contactsOf(bob.api)).toEqual([])
      const { data: received } = await bob.api.succeed('GET', '/roster/apply/list')
      expect(received).toMatchObject([{ user_id: data.user_id, status: 0, reason: '' }])
      expect(await eventsAbout(bob.id)).toContainEqual({
        kind: 'contact.applied',
        actor: data.user_id,
        content: '',
      })
      await bob.api.succeed('POST', '/roster/accept', { body: { user_id: data.user_id } })
      expect(await contactsOf(bob.api)).toEqual([data.user_id])
    })

    it.each([
      [2, answerCode.wrong_auth_answer],
      [3, answerCode.contact_requests_refused],
    ])(
      'refuses contacts of somebody whose auth_mode is %s, except to an Admin token',
      async (mode, code) => {
        await asks(mode)
        const prefix = `refused${mode}`
        for (const token of [undefined, alice.token]) {
          const options = token === undefined ? {} : { token }
          expect(await registerAs({ username: prefix, cid: bob.id }, options)).toMatchObject({
            code,
            data: null,
          })
        }
        expect(
          await server.sql.run(`select user_id from users where username like '${prefix}%'`),
        ).toEqual([])
        expect(await contactsOf(bob.api)).toEqual([])
        const made = await api.admin().succeed('POST', '/user/register/anonymous', {
          body: { username: prefix, password, cid: bob.id },
        })
        expect(await contactsOf(bob.api)).toEqual([made.data.user_id])
      },
    )

    it('takes the contact 0 for none', async () => {
      const { data } = await registerAs({ username: 'guest', cid: 0 })
      expect(await contactsOf(api.admin({ userId: data.user_id }))).toEqual([])
    })

    it('leaves nobody behind when the contact is not there', async () => {
      const gone = await api.register()
      await api.admin({ userId: gone.id }).succeed('POST', '/user/delete')
      const users = async () =>
        (await api.admin().succeed('GET', '/user/list', { query: { page_size: 200, page_num: 1 } }))
          .data.length
      const before = await users()
      expect(await registerAs({ username: 'guest', cid: unknownId })).toMatchObject({
        code: answerCode.user_not_found,
      })
      expect(await registerAs({ username: 'guest', cid: gone.id })).toMatchObject({
        code: answerCode.user_deleted,
      })
      expect(await users()).toBe(before)
    })

    it('is closed with the registration', async () => {
      const operator = api.as(server.operatorToken)
      const { data: app } = await operator.succeed('POST', '/operator/v1/app/create')
      await operator.succeed('POST', '/operator/v1/app/update', {
        body: { app_id: app.app_id, open_registration: false },
      })
      expect(await registerAs({ username: 'guest' }, { appId: app.app_id })).toMatchObject({
        code: answerCode.registration_closed,
      })
      expect(
        await registerAs({ username: 'guest' }, { appId: app.app_id, token: app.admin_token }),
      ).toMatchObject({ code: 200 })
    })
  })
})
