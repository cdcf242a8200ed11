/** Tokens and headers (rules C1 to C7); callers.test.ts has every operation. */
import {
  type Answer,
  type Api,
  anyBackend,
  type Json,
  type ServerProcess,
  type Session,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'

const otherAppId = 'other'

describe.each(anyBackend())('callers on $name', (backend) => {
  let server: ServerProcess
  let operator: Api
  let user: Session
  let foreignAdminToken: string
  let foreignUserToken: string

  beforeAll(async () => {
    server = await backend.startServer({ env: { HERMOD_CHECK_ANSWERS: 'on' } })
    operator = server.api.as(server.operatorToken)
    user = await server.api.newSession()
    foreignAdminToken = await newApp(otherAppId)
    foreignUserToken = (await newSessionIn(otherAppId)).token
  })

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  /** @returns its Admin token */
  async function newApp(appId: string): Promise<string> {
    const { data } = await operator.succeed('POST', '/operator/v1/app/create', {
      body: { app_id: appId },
    })
    return data.admin_token
  }

  async function newAdminToken(expiresAt?: number): Promise<{ token: string; tokenId: number }> {
    const body = {
      app_id: server.appId,
      name: 'test',
      ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    }
    const { data } = await operator.succeed('POST', '/operator/v1/token/create', { body })
    return { token: data.token, tokenId: data.token_id }
  }

  function revoke(tokenId: number): Promise<Answer> {
    return operator.call('POST', '/operator/v1/token/revoke', {
      body: { app_id: server.appId, token_id: tokenId },
    })
  }

  async function newSessionIn(
    appId: string,
  ): Promise<{ id: number; token: string; credentials: object }> {
    const credentials = {
      username: `user_of_${appId.replaceAll('-', '_')}`,
      password: 'correct horse',
    }
    const { data } = await server.api.succeed('POST', '/user/register/v2', {
      appId,
      body: credentials,
    })
    const login = await server.api.succeed('POST', '/token/id', {
      appId,
      body: { user_id: data.user_id, password: credentials.password },
    })
    return { id: data.user_id, token: login.data.token, credentials }
  }

  let apps = 0
  async function anApp(): Promise<{ appId: string; adminToken: string }> {
    const appId = `app-${++apps}`
    return { appId, adminToken: await newApp(appId) }
  }

  function change(appId: string, changes: object): Promise<Answer> {
    return operator.call('POST', '/operator/v1/app/update', { body: { app_id: appId, ...changes } })
  }

  function profileWith(token: string | null, options: object = {}): Promise<Answer> {
    return server.api.call('GET', '/user/profile', { token, ...options })
  }

  describe('the access token (rule C1)', () => {
    it('access token: is required', async () => {
      for (const token of [null, ''])
        expect(await profileWith(token)).toMatchObject({
          status: 200,
          code: answerCode.token_missing,
        })
    })

    it('access token: malformed and unknown ones are invalid', async () => {
      const own = user.token
      const changed = own.slice(0, -1) + (own.endsWith('a') ? 'b' : 'a')
      const strange = [
        'x',
        'Bearer x',
        own.slice(4),
        `x${own}`,
        `${own}x`,
        changed,
        own.toLowerCase(),
        'hmu_',
        'hma_',
        'null',
        '\u00ff',
        '*',
        "' or ''='",
      ]
      for (const token of [...strange, server.operatorToken]) {
        const answer = await profileWith(token, { userId: user.id })
        expect(answer, token).toMatchObject({
          status: 200,
          code: answerCode.token_invalid,
          data: null,
        })
        expect(answer.text).not.toContain(token.slice(4) || 'x'.repeat(9))
      }
    })

    it('access token: is invalid in other applications', async () => {
      for (const token of [foreignUserToken, foreignAdminToken]) {
        expect(await profileWith(token, { userId: user.id })).toMatchObject({
          status: 200,
          code: answerCode.token_invalid,
        })
      }
      expect(await profileWith(user.token, { appId: otherAppId })).toMatchObject({
        status: 200,
        code: answerCode.token_invalid,
      })
      expect(
        await profileWith(server.adminToken, { appId: otherAppId, userId: user.id }),
      ).toMatchObject({ code: answerCode.token_invalid })
      expect(await profileWith(foreignUserToken, { appId: otherAppId })).toMatchObject({
        status: 200,
        code: 200,
      })
    })

    it('Admin token with an end: is expired after it', async () => {
      const { token } = await newAdminToken(1)
      expect(await profileWith(token, { userId: user.id })).toMatchObject({
        status: 200,
        code: answerCode.token_expired,
      })
      const lasting = await newAdminToken(4_000_000_000_000)
      expect(await profileWith(lasting.token, { userId: user.id })).toMatchObject({
        status: 200,
        code: 200,
      })
    })

    it('revoked Admin token: ends at once and for good', async () => {
      const { token, tokenId } = await newAdminToken()
      expect(await profileWith(token, { userId: user.id })).toMatchObject({ code: 200 })
      expect(await revoke(tokenId)).toMatchObject({ code: 200 })
      for (let round = 0; round < 3; round++)
        expect(await profileWith(token, { userId: user.id })).toMatchObject({
          code: answerCode.token_expired,
        })
      expect((await newAdminToken()).token).not.toBe(token)
    })

    it('revocation of an Admin token: needs its application', async () => {
      const { token, tokenId } = await newAdminToken()
      const elsewhere = await operator.call('POST', '/operator/v1/token/revoke', {
        body: { app_id: otherAppId, token_id: tokenId },
      })
      expect(elsewhere).toMatchObject({ status: 200, code: answerCode.token_not_found })
      for (const unknown of [1, -1, 0, 9007199254740993n, 9223372036854775807n])
        expect(await revoke(unknown as number)).toMatchObject({ code: answerCode.token_not_found })
      expect(await profileWith(token, { userId: user.id })).toMatchObject({ code: 200 })
    })

    it('Admin token: a bad time of expiry is refused', async () => {
      for (const expiresAt of [9223372036854775807n, 9007199254740993n, -1, 'tomorrow']) {
        const body = { app_id: server.appId, name: 'distant', expires_at: expiresAt }
        const answer = await operator.call('POST', '/operator/v1/token/create', { body })
        expect(answer, String(expiresAt)).toMatchObject({
          status: 200,
          code: answerCode.invalid_parameter,
        })
      }
      const { data } = await operator.succeed('GET', '/operator/v1/token/list', {
        query: { app_id: server.appId },
      })
      expect(data.filter((each: Json) => each.name === 'distant')).toEqual([])
    })

    it('Admin token: is stored and listed without its secret', async () => {
      const { token, tokenId } = await newAdminToken()
      const list = await operator.call('GET', '/operator/v1/token/list', {
        query: { app_id: server.appId },
      })
      expect(list.data.map((each: Json) => each.token_id)).toContain(tokenId)
      expect(list.text).not.toContain(token.slice(4))
    })
  })

  describe('a user token', () => {
    it('user token: the user_id header may name its own user only (rule C3)', async () => {
      const other = await server.api.register()
      expect(await user.api.call('GET', '/user/profile', { userId: user.id })).toMatchObject({
        code: 200,
        data: { user_id: user.id },
      })
      for (const userId of [other.id, 0, -1, user.id + 1, 9223372036854775807n]) {
        expect(
          await user.api.call('GET', '/user/profile', { userId }),
          String(userId),
        ).toMatchObject({
          status: 200,
          code: answerCode.no_permission,
          data: null,
        })
      }
      const change = await user.api.call('PUT', '/user/profile', {
        userId: other.id,
        body: { nick_name: 'mine' },
      })
      expect(change.code).toBe(answerCode.no_permission)
      const { data } = await server.api.admin({ userId: other.id }).succeed('GET', '/user/profile')
      expect(data.nick_name).toBe('')
    })

    it('user token: the group_id header is refused (rule C4)', async () => {
      for (const groupId of [1, user.id]) {
        expect(await user.api.call('GET', '/user/profile', { groupId })).toMatchObject({
          status: 200,
          code: answerCode.no_permission,
        })
      }
      expect(
        await server.api.admin({ userId: user.id, groupId: 1 }).call('GET', '/user/profile'),
      ).toMatchObject({ code: 200 })
    })

    it('user token: sends for its own user only (rule C5)', async () => {
      const [sender, other, target] = [
        user,
        await server.api.register(),
        await server.api.newSession(),
      ]
      const body = { content: 'hi', content_type: 0, targets: [target.id], type: 1 }
      expect(
        await sender.api.call('POST', '/message/send', {
          body: { ...body, from_user_id: other.id },
        }),
      ).toMatchObject({
        code: answerCode.no_permission,
      })
      expect(
        await sender.api.call('POST', '/message/send', { body: { ...body, from_user_id: 0 } }),
      ).toMatchObject({ code: answerCode.no_permission })
      expect(await target.api.call('GET', '/message/unread')).toMatchObject({ code: 200, data: [] })
      expect(
        await sender.api.call('POST', '/message/send', {
          body: { ...body, from_user_id: sender.id },
        }),
      ).toMatchObject({ code: 200 })
      const { data } = await target.api.succeed('GET', '/message/unread')
      expect(data).toEqual([{ conversation_id: { uid: sender.id }, num: 1 }])
    })
  })

  describe('an Admin token', () => {
    it('Admin token: acts as the user in the user_id header, who must exist', async () => {
      expect(
        await server.api.admin({ userId: user.id }).call('GET', '/user/profile'),
      ).toMatchObject({
        code: 200,
        data: { user_id: user.id },
      })
      const stranger = await newSessionIn((await anApp()).appId)
      for (const userId of [1, stranger.id]) {
        expect(await server.api.admin({ userId }).call('GET', '/user/profile')).toMatchObject({
          status: 200,
          code: answerCode.user_not_found,
        })
      }
    })

    it('Admin token: is an admin of the group in the group_id header only (rules C4, C5)', async () => {
      const create = async () =>
        (await server.api.admin({ userId: user.id }).succeed('POST', '/group/create', { body: {} }))
          .data.group_id
      const [group, another] = [await create(), await create()]
      const limited = server.api.admin({ groupId: another })
      const about = (group_id: number) => ({ query: { group_id } })
      for (const method of ['GET', 'POST', 'DELETE']) {
        const path = method === 'GET' ? '/group/info' : '/group/destroy'
        expect(await limited.call(method, path, about(group)), method).toMatchObject({
          code: answerCode.no_permission,
          data: null,
        })
      }
      expect(await limited.call('POST', '/group/destroy', about(another))).toMatchObject({
        code: answerCode.group_owner_required,
      })
      expect(await limited.call('GET', '/group/info', about(another))).toMatchObject({
        code: 200,
        data: { status: 0 },
      })
      expect(await server.api.admin().call('GET', '/group/info', about(group))).toMatchObject({
        code: 200,
        data: { status: 0 },
      })
    })

    it('Admin token: sends for from_user_id, else for the header, else for the system (rule C5)', async () => {
      const [first, second, target] = [
        await server.api.register(),
        await server.api.register(),
        await server.api.newSession(),
      ]
      const send = async (userId: number | undefined, fromUserId: number | undefined) => {
        const api = userId === undefined ? server.api.admin() : server.api.admin({ userId })
        const body = {
          content: 'hi',
          content_type: 0,
          targets: [target.id],
          type: 1,
          ...(fromUserId === undefined ? {} : { from_user_id: fromUserId }),
        }
        await api.succeed('POST', '/message/send', { body })
        const { data } = await target.api.succeed('GET', '/message/conversation_list', {
          query: { limit: 1 },
        })
        return data.conversations[0].conversation_id.uid
      }
      expect(await send(undefined, undefined)).toBe(0)
      expect(await send(first.id, undefined)).toBe(first.id)
      expect(await send(first.id, second.id)).toBe(second.id)
      expect(await send(first.id, 0)).toBe(0)
    })
  })

  describe('an application', () => {
    it('disabled application: refuses every caller until it is enabled', async () => {
      const { appId } = await anApp()
      const { id, token, credentials } = await newSessionIn(appId)
      const asBefore = () => [
        profileWith(token, { appId }),
        server.api.call('POST', '/token/id', { appId, body: { user_id: id, ...credentials } }),
        server.api.call('POST', '/user/register/v2', {
          appId,
          body: { ...credentials, username: 'another' },
        }),
        profileWith(null, { appId }),
      ]
      expect(await change(appId, { status: 1 })).toMatchObject({ code: 200, data: { status: 1 } })
      for (const answer of await Promise.all(asBefore())) {
        expect(answer).toMatchObject({ status: 200, code: answerCode.app_inactive, data: null })
      }
      expect(await profileWith(user.token)).toMatchObject({ code: 200 })
      await change(appId, { status: 0 })
      expect((await Promise.all(asBefore())).map(({ code }) => code)).toEqual([
        200,
        200,
        200,
        answerCode.token_missing,
      ])
    })

    it('closed registration: only an Admin token registers users', async () => {
      const { appId: closed, adminToken } = await anApp()
      expect(await change(closed, { open_registration: false })).toMatchObject({
        code: 200,
        data: { open_registration: false },
      })
      const member = { username: 'member', password: 'correct horse' }
      const register = (path: string, token: string | null) =>
        server.api.call('POST', path, { appId: closed, token, body: member })
      for (const path of ['/user/register/v2', '/user/register/push']) {
        for (const token of [
          null,
          user.token,
          foreignAdminToken,
          server.adminToken,
          'hma_unknown',
          server.operatorToken,
        ]) {
          expect(await register(path, token), `${path} ${token}`).toMatchObject({
            status: 200,
            code: answerCode.registration_closed,
            data: null,
          })
        }
      }
      const list = () =>
        server.api.succeed('GET', '/user/list', { appId: closed, token: adminToken })
      expect((await list()).data).toEqual([])
      expect(await register('/user/register/v2', adminToken)).toMatchObject({ code: 200 })
      expect((await list()).data).toMatchObject([{ username: 'member', status: 0 }])
      expect(
        await server.api.call('POST', '/token/user', {
          appId: closed,
          body: { name: 'member', password: member.password },
        }),
      ).toMatchObject({ code: 200 })
      await change(closed, { open_registration: true })
      const newcomer = await server.api.call('POST', '/user/register/v2', {
        appId: closed,
        body: { ...member, username: 'newcomer' },
      })
      expect(newcomer).toMatchObject({ code: 200 })
    })

    it('applications: share no user', async () => {
      const [here, there] = [await anApp(), await anApp()]
      const namesake = { username: 'namesake', password: 'correct horse' }
      const ids: number[] = []
      for (const { appId } of [here, there]) {
        const { data } = await server.api.succeed('POST', '/user/register/v2', {
          appId,
          body: namesake,
        })
        ids.push(data.user_id)
      }
      expect(ids[0]).not.toBe(ids[1])
      const login = await server.api.call('POST', '/token/id', {
        appId: there.appId,
        body: { user_id: ids[0] as number, password: namesake.password },
      })
      expect(login).toMatchObject({ code: answerCode.user_not_found })
    })

    it('unknown application: the operator cannot change or read it', async () => {
      expect(await change('nowhere', { name: 'x' })).toMatchObject({
        status: 200,
        code: answerCode.app_not_found,
      })
      expect(await change('nowhere', {})).toMatchObject({
        status: 200,
        code: answerCode.app_not_found,
      })
      expect(
        await operator.call('GET', '/operator/v1/token/list', { query: { app_id: 'nowhere' } }),
      ).toMatchObject({ code: answerCode.app_not_found })
      const again = await operator.call('POST', '/operator/v1/app/create', {
        body: { app_id: otherAppId },
      })
      expect(again).toMatchObject({ status: 200, code: answerCode.app_exists })
    })
  })

  describe('the operator', () => {
    it('operator: needs no application', async () => {
      for (const appId of [null, 'nowhere']) {
        expect(await operator.call('GET', '/operator/v1/app/list', { appId })).toMatchObject({
          status: 200,
          code: 200,
        })
      }
    })

    it('operator token: is no token of an application', async () => {
      for (const path of ['/user/list', '/user/profile', '/message/unread']) {
        expect(await operator.call('GET', path, { userId: user.id })).toMatchObject({
          status: 200,
          code: answerCode.token_invalid,
        })
      }
    })

    it('operator operations: refuse other tokens', async () => {
      for (const token of [user.token, server.adminToken, foreignAdminToken]) {
        expect(await server.api.call('GET', '/operator/v1/app/list', { token })).toMatchObject({
          status: 200,
          code: answerCode.no_permission,
        })
      }
      for (const token of [
        'x',
        'hmo_',
        `${server.operatorToken}x`,
        server.operatorToken.slice(0, -1),
      ]) {
        expect(await server.api.call('GET', '/operator/v1/app/list', { token })).toMatchObject({
          status: 200,
          code: answerCode.token_invalid,
        })
      }
    })
  })
})
