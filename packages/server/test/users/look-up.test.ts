/** Users as a backend looks them up: by ID, username or subject, and their profiles (rules C5 and C6a). */
import { type Answer, type Api, type Json, type Session, testBackends } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'

describe.each(testBackends())('look-ups of users on $name', (backend) => {
  const server = ownServer(backend)
  let api: Api
  let admin: Api
  let alice: Session
  let bob: Session
  let gone: Session

  const find = (body: object, caller = admin): Promise<Answer> =>
    caller.call('POST', '/user/list', { body })
  const found = async (body: object): Promise<Json[]> => {
    const answer = await find(body)
    expect(answer).toMatchObject({ status: 200, code: 200 })
    return answer.data
  }
  const entry = ({ id, username }: Session, more: object = {}) => ({
    user_id: id,
    username,
    status: 0,
    is_bot: false,
    ...more,
  })
  const link = ({ id }: Session, subject: string, issuer = 'app') =>
    api.admin({ userId: id }).succeed('POST', '/user/identity/link', { body: { issuer, subject } })

  beforeAll(async () => {
    api = server.api
    admin = api.admin()
    ;[alice, bob, gone] = await Promise.all([api.newSession(), api.newSession(), api.newSession()])
    await link(alice, 'a-1')
    await link(alice, 'a-2')
    await link(bob, 'b')
    await link(bob, 'a-1', 'other')
    await link(gone, 'gone')
    await api.admin({ userId: gone.id }).succeed('POST', '/user/delete')
  })

  it('by ID: in their order, each once, without unknown and deleted users and the system', async () => {
    const user_ids = [bob.id, 1, gone.id, String(alice.id), bob.id, 0, '9223372036854775807']
    expect(await found({ user_ids })).toEqual([entry(bob), entry(alice)])
  })

  it('by name: as logins compare names', async () => {
    const names = [bob.username.toUpperCase(), gone.username, 'unknown', alice.username]
    expect(await found({ names: [...names, bob.username] })).toEqual([entry(bob), entry(alice)])
    expect(await found({ names: [' ', 'a\u0301', '%', "'", `${bob.username} `] })).toEqual([])
  })

  it('by subject: byte for byte, each beside its user', async () => {
    const subjects = ['b', 'a-2', 'A-1', 'gone', 'a-1', 'b']
    expect(await found({ issuer: 'app', subjects })).toEqual([
      entry(bob, { subject: 'b' }),
      entry(alice, { subject: 'a-2' }),
      entry(alice, { subject: 'a-1' }),
    ])
    expect(await found({ issuer: 'other', subjects })).toEqual([entry(bob, { subject: 'a-1' })])
    expect(await found({ issuer: 'unknown', subjects })).toEqual([])
  })

  it('shows disabled users and bots, and none of another application', async () => {
    const { data: bot } = await admin.succeed('POST', '/token/issue', {
      body: { issuer: 'app', subject: 'bot', create: { is_bot: true } },
    })
    const user = await api.register()
    await admin.succeed('PUT', '/user/disable', { body: { list: [user.id] } })
    const user_ids = [bot.user_id, user.id]
    expect(await found({ user_ids })).toMatchObject([
      { user_id: bot.user_id, is_bot: true, status: 0 },
      { user_id: user.id, is_bot: false, status: 1 },
    ])
    const operator = api.as(server.operatorToken)
    const { data: app } = await operator.succeed('POST', '/operator/v1/app/create')
    const foreign = { appId: app.app_id, token: app.admin_token }
    for (const body of [
      { user_ids },
      { names: [bob.username] },
      { issuer: 'app', subjects: ['bot'] },
    ])
      expect((await api.succeed('POST', '/user/list', { ...foreign, body })).data).toEqual([])
  })

  it('takes 500 of one kind, none too, and refuses everything else by name', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `u${index}`)
    expect(await found({ names: [...many(499), bob.username] })).toEqual([entry(bob)])
    expect(await found({ issuer: 'app', subjects: [...many(499), 'b'] })).toHaveLength(1)
    expect(await found({ user_ids: [...Array(499).keys(), bob.id] })).toEqual([entry(bob)])
    expect(await found({ user_ids: [] })).toEqual([])
    const user_ids = [bob.id]
    const refused: [object, string][] = [
      [{}, 'user_ids, names or issuer with subjects must be given'],
      [{ user_ids, names: ['x'] }, 'no other of them'],
      [{ user_ids, issuer: 'app', subjects: ['x'] }, 'no other of them'],
      [{ issuer: 'app' }, 'subjects is required'],
      [{ subjects: ['x'] }, 'issuer is required'],
      [{ names: many(501) }, 'names'],
      [{ issuer: 'app', subjects: many(501) }, 'subjects'],
      [{ user_ids: [...Array(501).keys()] }, 'user_ids'],
      [{ names: ['x'.repeat(65)] }, 'names'],
      [{ names: [''] }, 'names'],
      [{ names: ['a\u0000'] }, 'names'],
      [{ issuer: 'app', subjects: ['x'.repeat(256)] }, 'subjects'],
      [{ issuer: 'app', subjects: ['a\u0000'] }, 'subjects'],
      [{ user_ids: ['bob'] }, 'user_ids'],
    ]
    for (const [body, text] of refused) {
      const answer = await find(body)
      expect([body, answer.code]).toEqual([body, answerCode.invalid_parameter])
      expect(answer.envelope.message).toContain(text)
    }
  })

  it('is refused for user tokens', async () => {
    await expectCode(find({ user_ids: [bob.id] }, alice.api), 'no_permission')
  })

  describe('the profile', () => {
    const read = (caller: Api, user_id?: unknown) =>
      caller.call('GET', '/user/profile', {
        query: user_id === undefined ? {} : { user_id: String(user_id) },
      })

    it('by Admin token: of the user in the parameter, else of the header', async () => {
      const own = (await read(bob.api)).data
      expect(own).toMatchObject({ user_id: bob.id, username: bob.username, private_info: '' })
      expect((await read(admin, bob.id)).data).toEqual(own)
      expect((await read(api.admin({ userId: bob.id }))).data).toEqual(own)
      expect((await read(api.admin({ userId: alice.id }), bob.id)).data).toEqual(own)
      await expectCode(read(admin, 1), 'user_not_found')
      await expectCode(read(admin, gone.id), 'user_deleted')
      const neither = await read(admin)
      expect(neither.code).toBe(answerCode.invalid_parameter)
      expect(neither.envelope.message).toContain('user_id')
    })

    it('by user token: the own one alone', async () => {
      expect((await read(bob.api, bob.id)).data).toMatchObject({ user_id: bob.id })
      await expectCode(read(alice.api, bob.id), 'no_permission')
      await expectCode(read(alice.api, 1), 'no_permission')
    })
  })
})
