/** The list of users, and users who are disabled (rule D9). */
import { type Api, anyBackend, type Json, sharedPassword as password } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { accountCalls, type OwnApp } from '../support/accounts.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'

describe.each(anyBackend())('accounts on $name', (backend) => {
  const server = ownServer(backend)
  const { codeOfToken, logIn, newApp } = accountCalls(server)
  let api: Api
  let admin: Api

  beforeAll(() => {
    api = server.api
    admin = server.api.admin()
  })

  describe('the list of users', () => {
    let app: OwnApp
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
