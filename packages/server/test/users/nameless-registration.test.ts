/** Registration with a name that the service makes (rule D3). */
import {
  type Answer,
  type Api,
  anyBackend,
  type CallOptions,
  type Session,
  sharedPassword as password,
} from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'
import { sessions } from '../support/messaging/messaging.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'

const unknownId = 1

describe.each(anyBackend())('nameless registration on $name', (backend) => {
  const server = ownServer(backend, { HERMOD_RESERVED_USERNAME_PREFIXES: 'official_' })
  let api: Api
  let alice: Session
  let bob: Session

  beforeAll(() => {
    api = server.api
  })

  beforeEach(async () => {
    ;[alice, bob] = await sessions(server, 2)
  })

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
