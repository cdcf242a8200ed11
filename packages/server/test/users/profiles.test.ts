/** Profiles, one by one and in lists (rules B4, D7, D8). */
import {
  type Answer,
  type Api,
  anyBackend,
  type CallOptions,
  type Json,
  type Session,
} from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { sharedServer } from '../support/in-process-server.js'
import { sessions } from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

const unknownId = 1

describe.each(anyBackend())('profiles on $name', (backend) => {
  const server = sharedServer(backend)
  let api: Api
  let alice: Session
  let bob: Session

  beforeAll(() => {
    api = server.api
  })

  beforeEach(async () => {
    ;[alice, bob] = await sessions(server, 2)
  })

  const profileOf = async ({ id }: Session): Promise<Json> =>
    (await api.admin({ userId: id }).succeed('GET', '/user/profile')).data

  /** The events about a user with their causers, oldest first. */
  const eventsAbout = async (userId: number) =>
    (await recordedEvents(server.sql))
      .filter(({ users }) => users.includes(userId))
      .map(({ kind, actor, content }) => ({ kind, actor, content }))

  function refuses(answer: Answer, field: string): void {
    expect(answer).toMatchObject({ status: 200, code: answerCode.invalid_parameter, data: null })
    expect(answer.envelope.message).toContain(`${field} must`)
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

  describe('profiles of new users', () => {
    const fresh = {
      avatar: '',
      description: '',
      email: '',
      mobile: '',
      nick_name: '',
      private_info: '',
      public_info: '',
      is_bot: false,
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
})
