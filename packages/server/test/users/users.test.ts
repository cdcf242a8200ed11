/** Names, addresses and passwords of users (rules C6a, D1, D3, D9). */
import {
  type Answer,
  type Api,
  anyBackend,
  type Json,
  type Session,
  sharedPassword as password,
} from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { accountCalls, newName } from '../support/accounts.js'
import { answerCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'
import { sessions } from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

const otherPassword = 'battery staple'
const unknownId = 1

describe.each(anyBackend())('users on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_RESERVED_USERNAME_PREFIXES: 'official_' })
  const { codeOfToken } = accountCalls(server)
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

  function logIn(body: object, path = '/token/login'): Promise<Answer> {
    return api.call('POST', path, { body: { password, ...body } })
  }

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
      refuses(await reset(api.admin({ userId: alice.id }), { password: '12345' }), 'password')
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
})
