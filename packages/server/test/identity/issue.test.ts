/** Tokens that a backend gives to its users, on both databases (rule C9). */
import { type Api, testBackends } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { accountCalls, newName } from '../support/accounts.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { backendCalls, newSubject } from '../support/identity.js'
import { ownServer } from '../support/in-process-server.js'

const dayMs = 86_400_000

describe.each(testBackends())('tokens of a backend on $name', (backend) => {
  const server = ownServer(backend, {
    HERMOD_USER_TOKEN_DAYS: '2',
    HERMOD_RESERVED_USERNAME_PREFIXES: 'admin',
  })
  const { issue, issued, identitiesOf } = backendCalls(() => api.admin())
  const { codeOfToken, newApp, usernamesOf } = accountCalls(server)
  let api: Api

  beforeAll(() => {
    api = server.api
  })

  const sql = (statement: string) => server.sql.run(statement)
  const disable = (id: number) =>
    api.admin().succeed('PUT', '/user/disable', { body: { list: [id] } })
  const remove = (userId: number) => api.admin({ userId }).succeed('POST', '/user/delete')

  describe('for a user who is there', () => {
    it('come by ID, by name and by subject', async () => {
      const user = await api.register()
      const subject = newSubject()
      await api.admin({ userId: user.id }).succeed('POST', '/user/identity/link', { body: subject })
      for (const target of [{ user_id: user.id }, { name: user.username.toUpperCase() }, subject]) {
        const { data, created } = await issued(target)
        expect([data.user_id, created]).toEqual([user.id, false])
        expect(data.token).toMatch(/^hmu_/)
        expect(data).not.toHaveProperty('push_token')
        expect(await codeOfToken(data.token)).toBe(200)
      }
    })

    it('are refused for unknown, deleted and disabled users', async () => {
      const [gone, banned] = [await api.register(), await api.register()]
      const subject = newSubject()
      await api
        .admin({ userId: banned.id })
        .succeed('POST', '/user/identity/link', { body: subject })
      await remove(gone.id)
      await disable(banned.id)
      await expectCode(issue({ user_id: 999 }), 'user_not_found')
      await expectCode(issue({ name: gone.username }), 'user_not_found')
      await expectCode(issue(newSubject()), 'user_not_found')
      await expectCode(issue({ user_id: gone.id }), 'user_deleted')
      await expectCode(issue({ user_id: banned.id }), 'user_disabled')
      await expectCode(issue({ name: banned.username }), 'user_disabled')
      await expectCode(issue({ ...subject, create: {} }), 'user_disabled')
    })

    it('are for Admin tokens only', async () => {
      const { api: own, id } = await api.newSession()
      await expectCode(own.call('POST', '/token/issue', { body: { user_id: id } }), 'no_permission')
      await expectCode(
        own.call('POST', '/token/revoke', { body: { user_id: id } }),
        'no_permission',
      )
      await expectCode(api.call('POST', '/token/issue', { body: { user_id: id } }), 'token_missing')
    })

    it('live a day unless asked otherwise, and not longer than those of logins', async () => {
      const { id: user_id } = await api.register()
      const lifeOf = async (more: object) =>
        (await issued({ user_id, ...more })).data.expire - Date.now()
      expect(Math.abs((await lifeOf({})) - dayMs)).toBeLessThan(60_000)
      expect(Math.abs((await lifeOf({ expires_in: 60 })) - 60_000)).toBeLessThan(30_000)
      expect(Math.abs((await lifeOf({ expires_in: 2 * 86_400 })) - 2 * dayMs)).toBeLessThan(60_000)
      for (const [expires_in, text] of [
        [2 * 86_400 + 1, 'expires_in must be at most 172800, the life of tokens'],
        [59, 'expires_in must be'],
      ] as const) {
        const answer = await issue({ user_id, expires_in })
        expect([answer.code, answer.envelope.message]).toEqual([
          answerCode.invalid_parameter,
          expect.stringContaining(text),
        ])
      }
    })

    it.each<[string, object, string]>([
      ['no name', {}, 'user_id, name or issuer with subject must be given'],
      ['two names', { user_id: 1, name: 'alice' }, 'and no other of them'],
      ['an issuer alone', { issuer: 'app' }, 'subject is required'],
      ['a subject alone', { subject: '1' }, 'issuer is required'],
      ['a name beside a subject', { name: 'a', issuer: 'app', subject: '1' }, 'no other'],
      ['a user to make by ID', { user_id: 1, create: {} }, 'create must come with issuer'],
      ['an empty subject', { issuer: 'app', subject: '' }, 'subject must not be empty'],
      [
        'a long issuer',
        { issuer: 'ä'.repeat(128), subject: '1' },
        'issuer must have at most 255 bytes',
      ],
      [
        'a long subject',
        { issuer: 'a', subject: '😀'.repeat(64) },
        'subject must have at most 255 bytes',
      ],
      [
        'a control character',
        { issuer: 'app', subject: 'a\u0085b' },
        'subject must be a text without',
      ],
      ['U+0000', { issuer: 'app', subject: 'a\0' }, 'subject must not contain U+0000'],
      ['a lone surrogate', { issuer: 'app', subject: '\ud800' }, 'subject must be well-formed'],
    ])('are refused for %s, naming the field', async (_, body, text) => {
      const answer = await issue(body)
      expect([answer.code, answer.envelope.message]).toEqual([
        answerCode.invalid_parameter,
        expect.stringContaining(text),
      ])
    })
  })

  describe('for a new subject', () => {
    it('need create, which makes the user once and changes nothing later', async () => {
      const subject = newSubject()
      const username = newName('person')
      expect((await issue(subject)).envelope.message).toBe(
        'user does not exist: no user has this subject; create makes one',
      )
      const create = { username, nick_name: 'First', avatar: 'https://example.org/1.png' }
      const first = await issued({ ...subject, create })
      expect(first.created).toBe(true)
      const own = api.as(first.data.token)
      const profile = (await own.succeed('GET', '/user/profile')).data
      expect(profile).toMatchObject({ username, nick_name: 'First', avatar: create.avatar })
      const again = await issued({
        ...subject,
        create: { username: newName(), nick_name: 'Second' },
      })
      expect([again.created, again.data.user_id]).toEqual([false, first.data.user_id])
      expect((await own.succeed('GET', '/user/profile')).data).toEqual(profile)
      expect(await identitiesOf(first.data.user_id)).toEqual([subject])
    })

    it('make a name where none is given, and refuse one that is taken or reserved', async () => {
      const { data } = await issued({ ...newSubject(), create: {} })
      const { data: profile } = await api.as(data.token).succeed('GET', '/user/profile')
      expect(profile.username).toMatch(/^user_[a-z0-9]{10}$/)
      const subject = newSubject()
      const { username } = await api.register()
      await expectCode(
        issue({ ...subject, create: { username: username.toUpperCase() } }),
        'username_taken',
      )
      for (const create of [{ username: '123' }, { username: 'Admin_1' }, { nick_name: ' ' }])
        expect((await issue({ ...subject, create })).envelope.message).toContain(
          `create.${Object.keys(create)[0]} must`,
        )
      const both = await issue({ ...subject, create: { username: '123', nick_name: ' ' } })
      expect(both.envelope.message).toMatch(/create\.username must .*; create\.nick_name must/)
      expect((await issued({ ...subject, create: {} })).created).toBe(true)
    })

    it('compare subjects byte for byte', async () => {
      const subjects = [
        'ab',
        'AB',
        'ａｂ',
        'ab ',
        'é',
        'e\u0301',
        'straße',
        'strasse',
        'i',
        'ı',
        '1',
        '01',
      ]
      const users: number[] = []
      for (const subject of subjects)
        users.push((await issued({ issuer: 'bytes', subject, create: {} })).data.user_id)
      users.push((await issued({ issuer: 'BYTES', subject: 'ab', create: {} })).data.user_id)
      expect(new Set(users).size).toBe(subjects.length + 1)
      expect((await issued({ issuer: 'bytes', subject: 'e\u0301' })).data.user_id).toBe(users[5])
    })

    it('give bots a life of a year', async () => {
      const subject = newSubject()
      const year = 365 * 86_400
      const { data } = await issued({ ...subject, create: { is_bot: true }, expires_in: year })
      expect(Math.abs(data.expire - Date.now() - year * 1000)).toBeLessThan(60_000)
      await expectCode(issue({ ...subject, expires_in: year + 1 }), 'invalid_parameter')
      const { expire } = (await issued(subject)).data
      expect(Math.abs(expire - Date.now() - dayMs)).toBeLessThan(60_000)
      const refused = newSubject()
      await expectCode(issue({ ...refused, create: {}, expires_in: year }), 'invalid_parameter')
      await expectCode(issue(refused), 'user_not_found')
    })

    it('of 50 first calls at once make one user, and no other rows', async () => {
      const app = await newApp()
      const admin = api.as(app.token)
      const subject = newSubject()
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, index) =>
          admin.succeed('POST', '/token/issue', {
            appId: app.appId,
            body: { ...subject, device_guid: `device ${index % 3}`, create: { nick_name: 'One' } },
          }),
        ),
      )
      expect(answers.filter(({ created }) => created)).toHaveLength(1)
      expect(new Set(answers.map(({ data }) => data.user_id)).size).toBe(1)
      expect(await usernamesOf(app)).toHaveLength(1)
      const countOf = async (table: string) =>
        Number(
          (await sql(`select count(*) as count from ${table} where app_id = '${app.appId}'`))[0]
            ?.count,
        )
      expect([
        await countOf('users'),
        await countOf('user_identities'),
        await countOf('devices'),
      ]).toEqual([1, 1, 3])
      expect(await sql(`select users from user_counts where app_id = '${app.appId}'`)).toEqual([
        { users: 1 },
      ])
    })

    it('respect the limit of users, and not a closed registration', async () => {
      const app = await newApp()
      const operator = api.as(server.operatorToken)
      await operator.succeed('POST', '/operator/v1/app/update', {
        body: { app_id: app.appId, settings: { user_limit: 2 }, open_registration: false },
      })
      const create = (subject: string) =>
        api.as(app.token).call('POST', '/token/issue', {
          appId: app.appId,
          body: { issuer: 'app', subject, create: {} },
        })
      const answers = await Promise.all(['1', '2', '3', '1', '4'].map(create))
      const made = answers.filter(({ code }) => code === 200)
      expect(made.filter(({ envelope }) => envelope.created)).toHaveLength(2)
      for (const { code } of answers) expect([200, answerCode.user_limit_reached]).toContain(code)
      expect(await usernamesOf(app)).toHaveLength(2)
    })

    it('have the subject of a deleted user again, for another user', async () => {
      const subject = newSubject()
      const { data: first } = await issued({ ...subject, create: {} })
      await remove(first.user_id)
      await expectCode(issue(subject), 'user_not_found')
      const { data: second, created } = await issued({ ...subject, create: {} })
      expect(created).toBe(true)
      expect(second.user_id).not.toBe(first.user_id)
    })
  })

  describe('for a device', () => {
    it('make it, keep its user agent unless one is given, and remember no network', async () => {
      const { id: user_id } = await api.register()
      const device = { user_id, device_guid: 'phone' }
      const { data } = await issued({ ...device, platform: 2, user_agent: 'App 1' })
      expect(data.push_token).toMatch(/^hmp_/)
      const devices = async () =>
        (await api.admin({ userId: user_id }).succeed('GET', '/user/device/list')).data
      expect(await devices()).toEqual([
        expect.objectContaining({ platform: 2, user_agent: 'App 1' }),
      ])
      await issued(device)
      expect(await devices()).toEqual([
        expect.objectContaining({ platform: 2, user_agent: 'App 1' }),
      ])
      await issued({ ...device, user_agent: 'App 2' })
      expect(await devices()).toEqual([
        expect.objectContaining({ platform: 2, user_agent: 'App 2' }),
      ])
      expect(await sql(`select * from login_networks where user_id = ${user_id}`)).toEqual([])
    })

    it('end those that were issued for it before, and no others', async () => {
      const user = await api.register()
      const login = await api.login(user, 'phone')
      const issueFor = async (more: object) =>
        (await issued({ user_id: user.id, ...more })).data.token
      const [plain, tablet, first] = [
        await issueFor({}),
        await issueFor({ device_guid: 'tablet' }),
        await issueFor({ device_guid: 'phone' }),
      ]
      const second = await issueFor({ device_guid: 'phone' })
      expect(await codeOfToken(first)).toBe(answerCode.token_expired)
      for (const token of [login.token, plain, tablet, second])
        expect(await codeOfToken(token)).toBe(200)
      await api.login(user, 'phone')
      expect(await codeOfToken(second)).toBe(200)
    })

    it('replace the one that was unused for longest, as logins do', async () => {
      const { id: user_id } = await api.register()
      const tokens: string[] = []
      for (let index = 0; index <= 20; index++) {
        server.clock.set(Date.now() + index)
        tokens.push((await issued({ user_id, device_guid: `device ${index}` })).data.token)
      }
      server.clock.set(Date.now())
      expect(await codeOfToken(tokens[0] as string)).toBe(answerCode.token_expired)
      expect(await codeOfToken(tokens[1] as string)).toBe(200)
    })
  })

  it('work without a password check', async () => {
    const { data } = await issued({ ...newSubject(), create: {} })
    expect(await sql(`select password_hash from users where user_id = ${data.user_id}`)).toEqual([
      { password_hash: '' },
    ])
  })
})
