/** Opening the sessions of the gateway, and calls on them. */
import { type Backend, anyBackend, GatewayClient, type Session } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { sharedServer } from '../support/in-process-server.js'
import { textTo } from '../support/messaging/messaging.js'

describe('sessions of the gateway', () => {
  const [backend] = anyBackend() as [Backend]
  const server = sharedServer(backend)
  let alice: Session

  beforeAll(async () => {
    alice = await server.api.newSession()
  })

  async function openedBy(session: Session, deviceGuid?: string): Promise<GatewayClient> {
    const client = await GatewayClient.connect(server.url)
    const device = deviceGuid === undefined ? {} : { deviceGuid }
    const { code, message } = await client.open({
      appId: server.appId,
      accessToken: session.token,
      ...device,
    })
    expect([code, message]).toEqual([200, null])
    return client
  }

  /** The code of the answer to session.open, and the code of the close that follows. */
  async function refusalOf(data: object): Promise<[number, number]> {
    using client = await GatewayClient.connect(server.url)
    const { code } = await client.call('session.open', data)
    const closing = await client.next('session.closing')
    const close = await client.closed()
    expect((closing.data as { code: number }).code).toBe(close.code)
    return [code, close.code]
  }

  it('session.open: answers what the client needs', async () => {
    using client = await GatewayClient.connect(server.url)
    const { data } = await client.open({
      appId: server.appId,
      accessToken: alice.token,
      deviceGuid: 'phone',
    })
    expect(data).toMatchObject({
      user_id: alice.id,
      device_sn: 1,
      sync: 'needed',
      ping_ms: 25_000,
      max_in_flight: 16,
      max_frame: 1_052_672,
      transaction_ttl_ms: 86_400_000,
    })
    expect(Math.abs(data.server_time - Date.now())).toBeLessThan(60_000)
    const lifeMs = data.token_expires_at - data.server_time
    expect(lifeMs).toBeGreaterThan(60_000)
    expect(data.session_id).toBeGreaterThan(0)
  })

  it('session.open: without a device_guid the session has no device', async () => {
    const user = await server.api.newSession()
    using client = await openedBy(user)
    expect((await client.succeed('user.device.list')).data).toEqual([])
  })

  it('session.open: a new device is recorded with its platform and name', async () => {
    const user = await server.api.newSession()
    using client = await openedBy(user, 'laptop')
    const { data } = await client.succeed('user.device.list')
    expect(data).toEqual([
      {
        ...{ device_sn: 1, platform: 5, user_agent: 'hermod-testkit' },
        ...{ user_id: user.id, online: true },
      },
    ])
  })

  it('session.open: a token opens only the device that it is bound to', async () => {
    const user = await server.api.newSession()
    using first = await openedBy(user, 'first')
    await first.close()
    const data = { app_id: server.appId, access_token: user.token, device_guid: 'second' }
    expect(await refusalOf(data)).toEqual([answerCode.no_permission, 4505])
    using again = await openedBy(user, 'first')
    expect((await again.succeed('user.device.list')).data).toHaveLength(1)
  })

  it('session.open: without a device_guid, a token of a device opens that device', async () => {
    const user = await server.api.newSession()
    using first = await openedBy(user, 'phone')
    using client = await GatewayClient.connect(server.url)
    const { app_id, access_token } = { app_id: server.appId, access_token: user.token }
    const opened = await client.succeed('session.open', { app_id, access_token, platform: 2 })
    expect(opened.data.device_sn).toBe(1)
    expect(await first.closed()).toEqual({ code: 4500, reason: 'replaced' })
    const { data } = await client.succeed('user.device.list')
    expect(data).toEqual([
      {
        ...{ device_sn: 1, platform: 2, user_agent: 'hermod-testkit' },
        ...{ user_id: user.id, online: true },
      },
    ])
  })

  it('session.open: an empty device_guid asks for no device, whatever the token', async () => {
    const user = await server.api.newSession()
    using first = await openedBy(user, 'phone')
    using client = await GatewayClient.connect(server.url)
    const data = { app_id: server.appId, access_token: user.token, device_guid: '' }
    expect((await client.succeed('session.open', data)).data).not.toHaveProperty('device_sn')
    expect((await first.call('user.device.list')).code).toBe(200)
  })

  it('session.open: of two connections of a device the later one stays', async () => {
    const user = await server.api.newSession()
    using first = await openedBy(user, 'phone')
    using second = await openedBy(user, 'phone')
    expect(await first.closed()).toEqual({ code: 4500, reason: 'replaced' })
    expect((await second.call('user.device.list')).code).toBe(200)
  })

  it('session.open: failures are answered, and the connection is closed', async () => {
    const app_id = server.appId
    const unknownToken = `hmu_${'x'.repeat(43)}`
    expect(await refusalOf({ app_id, access_token: unknownToken })).toEqual([
      answerCode.token_invalid,
      4505,
    ])
    expect(await refusalOf({ app_id })).toEqual([answerCode.token_missing, 4505])
    expect(await refusalOf({ app_id: 'nowhere', access_token: alice.token })).toEqual([
      answerCode.app_not_found,
      4506,
    ])
    expect(await refusalOf({ access_token: alice.token })).toEqual([
      answerCode.invalid_parameter,
      4507,
    ])
    expect(await refusalOf({ app_id, access_token: alice.token, platform: 99 })).toEqual([
      answerCode.invalid_parameter,
      4507,
    ])
    const leaver = await server.api.newSession()
    await leaver.api.succeed('POST', '/user/kick')
    expect(await refusalOf({ app_id, access_token: leaver.token })).toEqual([
      answerCode.token_expired,
      4003,
    ])
  })

  it('session.open: an Admin token needs a user_id, and its session has no device', async () => {
    const app_id = server.appId
    const access_token = server.adminToken
    expect(await refusalOf({ app_id, access_token })).toEqual([answerCode.invalid_parameter, 4507])
    expect(await refusalOf({ app_id, access_token, user_id: 7 })).toEqual([
      answerCode.user_not_found,
      4505,
    ])
    using client = await GatewayClient.connect(server.url)
    const { data } = await client.succeed('session.open', {
      ...{ app_id, access_token, user_id: alice.id, device_guid: 'ignored' },
    })
    expect(data).toMatchObject({ user_id: alice.id })
    expect(data).not.toHaveProperty('device_sn')
    expect(data).not.toHaveProperty('token_expires_at')
    expect((await client.succeed('user.profile.get')).data.user_id).toBe(alice.id)
    const bob = await server.api.newSession()
    const info = await client.succeed('user.profile.get', {}, { userId: bob.id })
    expect(info.data.user_id).toBe(bob.id)
  })

  it('session.open: a second one is answered and closes the connection', async () => {
    using client = await openedBy(alice)
    const { code } = await client.call('session.open', {})
    expect(code).toBe(answerCode.no_permission)
    expect((await client.closed()).code).toBe(4509)
  })

  it('a call before session.open is answered and closes the connection', async () => {
    using client = await GatewayClient.connect(server.url)
    await expectCode(client.call('user.profile.get'), 'token_missing')
    expect((await client.closed()).code).toBe(4511)
  })

  it('calls that follow session.open without waiting run after it', async () => {
    using client = await GatewayClient.connect(server.url)
    const opening = client.open({ appId: server.appId, accessToken: alice.token })
    const calls = [client.call('user.profile.get'), client.call('user.device.list')]
    expect((await opening).code).toBe(200)
    expect((await Promise.all(calls)).map(({ code }) => code)).toEqual([200, 200])
  })

  it('operations answer as over HTTP, with the id of the call', async () => {
    const bob = await server.api.newSession()
    using client = await openedBy(alice)
    const sent = await client.succeed('message.send', textTo([bob.id], 'hello'))
    expect(sent).toMatchObject({ data: true, message: null, msg_ids: [expect.any(Number)] })
    client.send('{"id":"by name","op":"user.profile.get","data":{"unknown":1},"later":true}')
    const answer = await client.next((frame) => frame.id === 'by name')
    expect(answer).toMatchObject({ code: 200, data: { user_id: alice.id }, message: null })
    client.send('{"id":9007199254740993,"op":"user.profile.get"}')
    expect(await client.next((frame) => frame.id === (9007199254740993n as never))).toBeDefined()
  })

  it('operations refuse as over HTTP, and say whether the call may be repeated', async () => {
    using client = await openedBy(alice)
    const refused = await client.call('message.send', { targets: 'x' })
    expect(refused).toMatchObject({
      code: answerCode.invalid_parameter,
      data: null,
      name: 'invalid_parameter',
      retry: false,
    })
    expect(refused.message).toContain('targets must be a list')
    const header = await client.call('user.profile.get', {}, { userId: 1 })
    expect(header.code).toBe(answerCode.no_permission)
    const data = await client.call('user.profile.get', [] as object)
    expect(data.message).toBe('invalid request parameter: data must be an object')
  })

  it('operations that are unknown, of files, of tickets or of operators are refused by name', async () => {
    using client = await openedBy(alice)
    for (const [op, error] of [
      ['user.nothing', 'operation_unknown'],
      ['file.upload', 'http_needed'],
      ['file.download.chat', 'http_needed'],
      ['file.upload.done', 'http_needed'],
      ['operator.app.list', 'http_needed'],
    ] as const) {
      const { code, message } = await client.call(op)
      expect([op, code]).toEqual([op, answerCode[error]])
      expect(message).toContain(op)
    }
    client.send('{"id":1000,"op":["user.profile.get"]}')
    expect(await client.next((frame) => frame.id === 1000)).toMatchObject({
      code: answerCode.invalid_parameter,
    })
    client.send('{"id":1001}')
    expect(await client.next((frame) => frame.id === 1001)).toMatchObject({
      code: answerCode.invalid_parameter,
    })
  })

  it('a whole body stands under its name', async () => {
    using client = await openedBy(alice)
    await client.succeed('user.private.update', { value: '{"a": 1}' })
    const { data } = await client.succeed('user.profile.get')
    expect(data.private_info).toBe('{"a": 1}')
  })
})
