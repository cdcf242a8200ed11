/** How sessions end: tokens that end, users that are deleted, bounds of a user, and a stop of the server. */
import { type Backend, anyBackend, GatewayClient, type Session } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { InProcessServer } from '../support/in-process-server.js'
import { textTo } from '../support/messaging/messaging.js'

const [backend] = anyBackend()
const start = (settings: Readonly<Record<string, string>>) =>
  InProcessServer.start(backend as Backend, settings)

/** A session that is of no device, also where its token is of one. */
const noDevice = ''

async function opened(
  server: InProcessServer,
  { token }: Pick<Session, 'token'>,
  deviceGuid = noDevice,
) {
  const client = await GatewayClient.connect(server.url)
  const { code } = await client.open({ appId: server.appId, accessToken: token, deviceGuid })
  expect(code).toBe(200)
  return client
}

interface Closing {
  readonly code: number
  readonly reason: string
  readonly retry_after_ms?: number
}

/** The code and the reason of the last event, which the code of the close confirms. */
async function ending(client: GatewayClient): Promise<[number, string]> {
  const { data } = await client.next('session.closing')
  const { code } = await client.closed()
  expect((data as Closing).code).toBe(code)
  return [code, (data as Closing).reason]
}

describe('sessions', () => {
  let server: InProcessServer

  beforeAll(async () => {
    server = await start({ HERMOD_GATEWAY_PING_SECONDS: '1', HERMOD_GATEWAY_USER_SESSIONS: '3' })
  })

  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })

  it('end with a kick, and when their user is disabled or deleted', async () => {
    const user = await server.api.newSession()
    using kicked = await opened(server, user)
    await user.api.succeed('POST', '/user/kick')
    expect((await ending(kicked))[0]).toBe(4501)
    const disabled = await server.api.newSession()
    using ofDisabled = await opened(server, disabled)
    await server.api.admin().succeed('PUT', '/user/disable', { body: { list: [disabled.id] } })
    expect((await ending(ofDisabled))[0]).toBe(4503)
    const deleted = await server.api.newSession()
    using ofDeleted = await opened(server, deleted, 'phone')
    await server.api.admin({ userId: deleted.id }).succeed('POST', '/user/delete')
    expect((await ending(ofDeleted))[0]).toBe(4504)
  })

  it('end when logins without a device have ended their token, without an event or a call', async () => {
    const user = await server.api.newSession()
    using client = await opened(server, user, noDevice)
    await server.sql.run(`update user_tokens set created_at = 1 where user_id = ${user.id}`)
    await Promise.all(Array.from({ length: 100 }, () => server.api.sessionOf(user)))
    await server.api.login(user)
    expect((await ending(client))[0]).toBe(4502)
  })

  it('end with the expiry of the token, without a call', async () => {
    const user = await server.api.newSession()
    using client = await opened(server, user)
    server.clock.set(Date.now() + 40 * 86_400_000)
    try {
      expect(await ending(client)).toEqual([4003, 'the token has expired'])
    } finally {
      server.clock.set(Date.now())
    }
  })

  it('end when their Admin token is revoked', async () => {
    const user = await server.api.newSession()
    const operator = server.api.as(server.operatorToken)
    const { data } = await operator.succeed('POST', '/operator/v1/token/create', {
      body: { app_id: server.appId, name: 'bot' },
    })
    using client = await GatewayClient.connect(server.url)
    await client.open({ appId: server.appId, accessToken: data.token, userId: user.id })
    const body = { app_id: server.appId, token_id: data.token_id }
    await operator.succeed('POST', '/operator/v1/token/revoke', { body })
    expect((await ending(client))[0]).toBe(4502)
  })

  it('end within seconds when a lost message leaves the node unaware of a disabled application', async () => {
    const user = await server.api.newSession()
    using client = await opened(server, user)
    const setStatus = (status: number) =>
      server.sql.run(`update apps set status = ${status} where app_id = '${server.appId}'`)
    await setStatus(1)
    try {
      expect(await ending(client)).toEqual([4506, 'application_disabled'])
    } finally {
      await setStatus(0)
    }
  })

  it('of Admin tokens have a bound of their own, and keep no user out', async () => {
    const user = await server.api.newSession()
    const open = async () => {
      const client = await GatewayClient.connect(server.url)
      const { appId, adminToken: accessToken } = server
      const { code } = await client.open({ appId, accessToken, userId: user.id })
      return { client, code }
    }
    const readers = [await open(), await open(), await open(), await open()]
    expect(readers.map(({ code }) => code)).toEqual([
      ...[200, 200, 200, answerCode.session_limit_reached],
    ])
    using own = await opened(server, user, 'phone')
    expect((await own.call('message.unread')).code).toBe(200)
    for (const { client } of readers) client[Symbol.dispose]()
  })

  it('of one user have a bound; the session that a new one replaces does not count', async () => {
    const user = await server.api.newSession()
    using phone = await opened(server, user, 'phone')
    using _ = await opened(server, user)
    using third = await opened(server, user)
    using refused = await GatewayClient.connect(server.url)
    const { code } = await refused.open({
      ...{ appId: server.appId, accessToken: user.token, deviceGuid: noDevice },
    })
    expect(code).toBe(answerCode.session_limit_reached)
    expect((await ending(refused))[0]).toBe(4510)
    using again = await opened(server, user, 'phone')
    expect((await ending(phone))[0]).toBe(4500)
    await third.close()
    using more = await opened(server, user)
    expect((await more.call('message.unread')).code).toBe(200)
    expect(again.ended).toBe(null)
  })

  it('have heartbeats: a ping and a frame', async () => {
    using client = await opened(server, await server.api.newSession())
    await client.next(({ id, event }) => id === undefined && event === undefined)
    expect(client.pings).toBeGreaterThan(0)
  })
})

describe('the limits of a user', () => {
  it('are those of HTTP and sockets together', async () => {
    await using server = await start({
      HERMOD_RATE_LIMIT: 'on',
      HERMOD_USER_RATE: '1',
      HERMOD_USER_BURST: '5',
    })
    const user = await server.api.newSession()
    using client = await opened(server, user)
    for (let i = 0; i < 2; i++) await user.api.succeed('GET', '/message/unread')
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => client.call('message.unread')),
    )
    const refused = answers.filter(({ code }) => code === answerCode.too_many_requests)
    expect(refused.length).toBeGreaterThanOrEqual(1)
    expect(refused[0]).toMatchObject({ retry: true, retry_after_ms: 1_000 })
    await expectCode(user.api.call('GET', '/message/unread'), 'too_many_requests')
  })
})

describe('a stop of the server', () => {
  it('answers calls in progress, and tells every client when to come back', async () => {
    await using server = await start({})
    const [alice, bob] = [await server.api.newSession(), await server.api.newSession()]
    const clients = await Promise.all(Array.from({ length: 20 }, () => opened(server, alice)))
    using sender = await opened(server, bob)
    const sends = Array.from({ length: 80 }, (_, index) =>
      sender.call('message.send', textTo([alice.id], `number ${index}`)),
    )
    await sends[0]
    const stopped = server.stop()
    const answers = (await Promise.allSettled(sends)).flatMap((each) =>
      each.status === 'fulfilled' ? [each.value] : [],
    )
    const stored = answers.filter(({ code }) => code === 200).length
    for (const { code } of answers) expect([200, answerCode.unavailable]).toContain(code)
    const times: number[] = []
    for (const client of clients) {
      const { data } = await client.next('session.closing')
      const { code, reason, retry_after_ms = 0 } = data as Closing
      expect([code, reason]).toEqual([4000, 'shutdown'])
      times.push(retry_after_ms)
      expect((await client.closed()).code).toBe(4000)
    }
    expect(new Set(times).size).toBeGreaterThan(10)
    expect(Math.min(...times)).toBeGreaterThanOrEqual(1_000)
    await stopped
    await server.startAgain()
    const { data } = await alice.api.succeed('GET', '/message/unread')
    expect(data).toMatchObject([{ num: stored }])
  })
})
