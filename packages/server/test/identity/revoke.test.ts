/** The end of tokens at the request of a backend (rules C9, D6a), with the real gateway. */
import { type Api, anyBackend, type Backend, GatewayClient } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { accountCalls } from '../support/accounts.js'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { backendCalls, newSubject } from '../support/identity.js'
import { InProcessServer } from '../support/in-process-server.js'

const [backend] = anyBackend()

describe('revoked tokens', () => {
  let server: InProcessServer
  let api: Api
  const { issued, revoke } = backendCalls(() => api.admin())

  beforeAll(async () => {
    server = await InProcessServer.start(backend as Backend, {}, 'gateway')
    api = server.api
  })
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  const codeOfToken = (token: string) => accountCalls(server).codeOfToken(token)

  async function connected(accessToken: string, deviceGuid: string) {
    const client = await GatewayClient.connect(server.url)
    expect((await client.open({ appId: server.appId, accessToken, deviceGuid })).code).toBe(200)
    return client
  }

  /** The code of the close, and the milliseconds since the call. */
  async function endOf(client: GatewayClient, call: () => Promise<unknown>) {
    const at = performance.now()
    await call()
    const { code } = await client.closed()
    return { code, ms: performance.now() - at }
  }

  const assertionsAfter = async (id: number) =>
    Number(
      (await server.sql.run(`select assertions_after from users where user_id = ${id}`))[0]
        ?.assertions_after,
    )

  /** A user with a phone and a tablet, on which a push token is bound. */
  async function newUser() {
    const subject = newSubject()
    const phone = (await issued({ ...subject, device_guid: 'phone', create: {} })).data
    const tablet = (await issued({ ...subject, device_guid: 'tablet' })).data
    const body = { device_sn: 2, device_token: `t${phone.user_id}`, notifier_name: 'test' }
    await api.as(tablet.token).succeed('POST', '/user/token/bind', { body })
    const plain = (await issued(subject)).data
    return {
      id: phone.user_id,
      subject,
      phone: phone.token,
      tablet: tablet.token,
      plain: plain.token,
    }
  }

  const silent = async (id: number) =>
    (await server.sql.run(`select * from silent_push_bindings where user_id = ${id}`)).length

  it('end the sockets of all devices within a second, and silence their pushes', async () => {
    const user = await newUser()
    using phone = await connected(user.phone, 'phone')
    using tablet = await connected(user.tablet, 'tablet')
    const [one, two] = await Promise.all([
      endOf(phone, () => expectCode(revoke(user.subject), 'ok')),
      endOf(tablet, async () => {}),
    ])
    expect([one.code, two.code]).toEqual([4501, 4501])
    expect(Math.max(one.ms, two.ms)).toBeLessThan(1_000)
    for (const token of [user.phone, user.tablet, user.plain])
      expect(await codeOfToken(token)).toBe(answerCode.token_expired)
    expect(await silent(user.id)).toBe(1)
    expect(await codeOfToken((await issued(user.subject)).data.token)).toBe(200)
  })

  it('end on one device alone when it is named', async () => {
    const user = await newUser()
    using phone = await connected(user.phone, 'phone')
    using tablet = await connected(user.tablet, 'tablet')
    const body = { user_id: user.id, device_sn: 2 }
    expect((await endOf(tablet, () => expectCode(revoke(body), 'ok'))).code).toBe(4501)
    expect((await phone.call('user.profile.get')).code).toBe(200)
    for (const [token, code] of [
      [user.phone, 200],
      [user.plain, 200],
      [user.tablet, answerCode.token_expired],
    ] as const)
      expect(await codeOfToken(token)).toBe(code)
    expect(await silent(user.id)).toBe(1)
    await expectCode(revoke({ user_id: user.id, device_sn: 3 }), 'device_not_found')
  })

  it('are refused for unknown and deleted users, and for a blank device', async () => {
    const { id, subject } = await newUser()
    await expectCode(revoke({ user_id: 999 }), 'user_not_found')
    await expectCode(revoke(newSubject()), 'user_not_found')
    await expectCode(revoke({ user_id: id, device_sn: '' }), 'invalid_parameter')
    await expectCode(revoke({}), 'invalid_parameter')
    await expectCode(revoke({ user_id: id, ...subject }), 'invalid_parameter')
    await api.admin({ userId: id }).succeed('POST', '/user/delete')
    await expectCode(revoke({ user_id: id }), 'user_deleted')
    await expectCode(revoke(subject), 'user_not_found')
  })

  it.each<[string, (id: number) => Promise<unknown>]>([
    ['a revocation', (id) => revoke({ user_id: id })],
    ['a revocation of one device', (id) => revoke({ user_id: id, device_sn: 1 })],
    ['disabling', (id) => api.admin().succeed('PUT', '/user/disable', { body: { list: [id] } })],
    ['a kick of all devices', (id) => api.admin({ userId: id }).succeed('POST', '/user/kick')],
    [
      'a password of an administrator',
      (id) =>
        api
          .admin({ userId: id })
          .succeed('POST', '/user/change_password_admin', { body: { password: 'new words' } }),
    ],
  ])('come with the end of earlier assertions after %s', async (_, end) => {
    const { id } = await newUser()
    expect(await assertionsAfter(id)).toBe(0)
    const before = Date.now()
    await end(id)
    const after = await assertionsAfter(id)
    expect(after).toBeGreaterThanOrEqual(before)
    expect(after).toBeLessThanOrEqual(Date.now())
  })

  it('come with the end of earlier assertions after a new password of the user', async () => {
    const user = await api.newSession()
    const body = { old_password: user.password, new_password: 'new words' }
    await user.api.succeed('POST', '/user/change_password', { body })
    expect(await assertionsAfter(user.id)).toBeGreaterThan(0)
  })

  it('do not come with the end of assertions after a kick of one device or a login', async () => {
    const { id } = await newUser()
    const query = { device_sn: 1 }
    await api.admin({ userId: id }).succeed('POST', '/user/kick', { query })
    await issued({ user_id: id, device_guid: 'phone' })
    expect(await assertionsAfter(id)).toBe(0)
  })
})
