/** HTTP under settings other than the defaults, floods and the end of the server. */
import {
  type Answer,
  anyBackend,
  isFullRun,
  PostgresCluster,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { InProcessServer } from '../support/in-process-server.js'
import { RawConnection } from '../support/raw-http.js'

const [backend] = anyBackend()
if (backend === undefined) throw new Error('no database')

describe('HERMOD_HTTP_STATUS=mirror', () => {
  it('HTTP_STATUS=mirror: failures have their HTTP class and the same envelope', async () => {
    await using mirror = await InProcessServer.start(backend, { HERMOD_HTTP_STATUS: 'mirror' })
    const api = mirror.http
    const user = await api.newSession()
    const expected: readonly (readonly [number, number, Answer])[] = [
      [200, 200, await user.api.call('GET', '/user/profile')],
      [400, answerCode.invalid_parameter, await api.call('POST', '/token/id', { body: {} })],
      [401, answerCode.token_missing, await api.call('GET', '/user/profile')],
      [401, answerCode.token_invalid, await api.as('x').call('GET', '/user/profile')],
      [403, answerCode.no_permission, await user.api.call('GET', '/user/list')],
      [
        403,
        answerCode.password_incorrect,
        await api.call('POST', '/token/id', { body: { user_id: user.id, password: 'wrong' } }),
      ],
      [
        404,
        answerCode.user_not_found,
        await api.call('POST', '/token/id', { body: { user_id: 1, password: 'wrong' } }),
      ],
      [
        404,
        answerCode.app_not_found,
        await api.call('POST', '/token/id', { appId: 'nowhere', body: {} }),
      ],
      [404, answerCode.path_not_found, await api.call('GET', '/nowhere')],
      [405, answerCode.method_not_accepted, await api.call('GET', '/token/id')],
      [
        409,
        answerCode.user_exists,
        await api.call('POST', '/user/register/v2', {
          body: { username: user.username, password: 'correct horse' },
        }),
      ],
    ]
    for (const [status, code, answer] of expected) {
      expect(answer).toMatchObject({ status, code })
      expect(Object.keys(answer.envelope)).toEqual(['code', 'data', 'message'])
      if (code !== 200)
        expect(answer.envelope).toMatchObject({ data: null, message: expect.stringMatching(/./) })
    }
  })
})

describe('an address that floods', () => {
  const limits = {
    HERMOD_RATE_LIMIT: 'on',
    HERMOD_ADDRESS_RATE: '1',
    HERMOD_ADDRESS_BURST: '5',
  }

  it('a flooding address: HTTP 429 with Retry-After before other checks, whatever address it claims', async () => {
    await using limited = await InProcessServer.start(backend, limits)
    const headers = (index: number) => ({
      'x-forwarded-for': `192.0.2.${index}`,
      forwarded: `for=192.0.2.${index}`,
    })
    const calls = Array.from({ length: 200 }, (_, index) =>
      limited.http.call('POST', '/token/id', { appId: null, headers: headers(index) }),
    )
    const answers = await Promise.all(calls)
    const refused = answers.filter(({ status }) => status === 429)
    const checked = answers.filter(({ status }) => status === 200)
    expect(refused.length + checked.length).toBe(200)
    expect(checked.length).toBeGreaterThanOrEqual(5)
    expect(refused.length).toBeGreaterThan(0)
    for (const { envelope, headers } of refused) {
      expect(envelope).toEqual({
        code: answerCode.address_limited,
        data: null,
        message: 'too many requests from this address',
      })
      expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
    }
    expect(await limited.http.call('GET', '/healthz')).toMatchObject({ status: 200 })
    const comesThrough = async () =>
      (await limited.http.call('POST', '/token/id', { body: {} })).status === 200
    await waitFor(comesThrough, { what: 'the end of the refusal', timeoutMs: 20_000, everyMs: 200 })
  })

  it('a flooding address behind a trusted proxy: other addresses are served', async () => {
    await using limited = await InProcessServer.start(backend, {
      ...limits,
      HERMOD_TRUST_PROXY: 'on',
    })
    const from = (address: string) =>
      limited.http.call('POST', '/token/id', { body: {}, headers: { 'x-forwarded-for': address } })
    const answers = await Promise.all(Array.from({ length: 200 }, () => from('192.0.2.1')))
    expect(answers.some(({ status }) => status === 429)).toBe(true)
    expect((await from('192.0.2.2')).status).toBe(200)
  })
})

describe('SIGTERM', () => {
  it('SIGTERM: new calls get HTTP 503 with Retry-After, then the server ends', async () => {
    await using leaving = await startServer()
    const body = JSON.stringify({ username: 'too_late', password: 'correct horse' })
    using late = await RawConnection.open(leaving.url)
    using probe = await RawConnection.open(leaving.url)
    // A whole request and the beginning of the next at once: when the first is answered, the second
    // has begun.
    const whole = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'
    late.send(
      `${whole}POST /user/register/v2 HTTP/1.1\r\nhost: x\r\napp_id: ${leaving.appId}\r\ncontent-length: ${body.length}\r\n\r\n{`,
    )
    probe.send(`${whole}GET /readyz HTTP/1.1\r\nhost: x\r\n`)
    expect([(await late.answer()).status, (await probe.answer()).status]).toEqual([200, 200])
    leaving.signal('SIGTERM')
    await waitFor(() => leaving.output().includes('"stopping"'), {
      what: 'the beginning of the end',
      timeoutMs: 20_000,
    })

    probe.send('\r\n')
    expect(await probe.answer()).toMatchObject({ status: 503 })
    late.send(body.slice(1))
    const refused = await late.answer()
    expect(refused).toMatchObject({
      status: 503,
      headers: { connection: 'close', 'retry-after': expect.stringMatching(/^[1-9]/) },
    })
    expect(JSON.parse(refused.body)).toMatchObject({ code: answerCode.unavailable, data: null })
    expect(await leaving.exited).toEqual({ code: 0, signal: null })

    await using again = await leaving.startAgain()
    expect(
      await again.api.call('POST', '/token/user', {
        body: { name: 'too_late', password: 'correct horse' },
      }),
    ).toMatchObject({
      code: answerCode.user_not_found,
    })
  })
})

if (isFullRun)
  describe('a page that needs a database which is gone', () => {
    const hasPostgres = testBackends().some(({ name }) => name === 'postgres')

    it.skipIf(!hasPostgres)('is a failure of that page and not the end of the server', async () => {
      await using cluster = await PostgresCluster.start()
      await using orphan = await startServer({
        databaseUrl: (await cluster.createDatabase()).url,
      })
      await cluster.stop()
      const headers = { 'x-forwarded-for': '192.0.2.1', 'access-token': 'hmo_unknown' }
      expect((await orphan.api.call('GET', '/metrics', { headers })).status).toBeGreaterThanOrEqual(
        500,
      )
      expect((await orphan.api.call('GET', '/healthz')).status).toBe(200)
      expect((await orphan.api.call('GET', '/readyz')).status).toBe(503)
    })
  })
