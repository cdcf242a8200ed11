/** The HTTP side of the pipeline, in which the database plays no part (rules A1, A2, A7). */
import { type Answer, anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { httpCalls, maxBodyBytes } from '../support/http-calls.js'
import { sharedServer } from '../support/in-process-server.js'
import { answerTo, RawConnection } from '../support/raw-http.js'

const [backend] = anyBackend()
if (backend === undefined) throw new Error('no database')
const server = sharedServer(backend)
const { call, credentials, head, newName, register } = httpCalls(server)

describe('the envelope', () => {
  it('envelope of a success: code 200, data, message null, nothing else', async () => {
    const { status, headers, envelope } = await register(credentials())
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(Object.keys(envelope)).toEqual(['code', 'data', 'message'])
    expect(envelope).toMatchObject({ code: 200, message: null })
  })

  it('envelope of a failure: code, data null, a sentence, HTTP 200', async () => {
    const { status, headers, envelope } = await call('POST', '/token/user', {
      body: { name: 'nobody', password: 'x' },
    })
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(envelope).toEqual({
      code: answerCode.user_not_found,
      data: null,
      message: 'user does not exist',
    })
  })

  it('envelope of bad parameters: names all of them', async () => {
    const { envelope } = await call('POST', '/token/id', {
      body: { user_id: 'x', password: 5, device_guid: 'x'.repeat(129) },
    })
    expect(envelope).toEqual({
      code: answerCode.invalid_parameter,
      data: null,
      message:
        'invalid request parameter: user_id must be a 64-bit integer; password must be a string; device_guid must have at most 128 characters',
    })
  })
})

describe('what is not the answer of an operation', () => {
  it.each([
    '/nowhere',
    '/token',
    '/token/id/',
    '/TOKEN/ID',
    '//token/id',
    '/token%2Fid',
    '/token/id;x',
    '/__proto__',
    '/constructor',
    '/../token/id',
  ])('is a real 404 on the unknown path %s', async (path) => {
    for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD']) {
      const answer = await call(method, path, method === 'POST' ? { body: { a: 1 } } : {})
      expect(answer.status, method).toBe(404)
      if (method !== 'HEAD')
        expect(answer.envelope).toEqual({
          code: answerCode.path_not_found,
          data: null,
          message: 'unknown path',
        })
    }
  })

  it('another method: HTTP 405 with the accepted methods', async () => {
    const accepted = {
      '/token/id': 'POST',
      '/user/profile': 'GET, PUT, POST',
      '/user/disable': 'PUT',
      '/user/delete': 'DELETE, POST',
    }
    for (const [path, allow] of Object.entries(accepted)) {
      for (const method of ['GET', 'PUT', 'POST', 'DELETE', 'PATCH', 'HEAD', 'TRACE']) {
        if (allow.split(', ').includes(method)) continue
        const answer = await call(method, path)
        expect(
          [answer.status, answer.headers.allow?.split(', ').toSorted()],
          `${method} ${path}`,
        ).toEqual([405, allow.split(', ').toSorted()])
        if (method !== 'HEAD') expect(answer.code).toBe(answerCode.method_not_accepted)
      }
    }
  })

  it('a body announced above the limit of the operation: HTTP 413 before it is sent', async () => {
    const answer = await answerTo(
      server.url,
      head('POST /user/register/v2 HTTP/1.1', `content-length: ${maxBodyBytes + 1}`),
    )
    expect(answer.status).toBe(413)
    expect(JSON.parse(answer.body)).toMatchObject({ code: answerCode.body_too_large, data: null })
  })

  it('a body that grows above the limit of the operation: HTTP 413', async () => {
    using connection = await RawConnection.open(server.url)
    connection.send(head('POST /user/register/v2 HTTP/1.1', 'transfer-encoding: chunked'))
    const chunk = 1_024
    for (let sent = 0; sent <= maxBodyBytes; sent += chunk)
      connection.send(`${chunk.toString(16)}\r\n${' '.repeat(chunk)}\r\n`)
    const answer = await connection.answer()
    expect(answer.status).toBe(413)
    expect(JSON.parse(answer.body)).toMatchObject({ code: answerCode.body_too_large, data: null })
  })

  it('HTTP 413: reaches a client that sends the whole body', async () => {
    const body = Buffer.alloc(4_194_304, ' ')
    const chunked = { 'content-length': undefined, 'transfer-encoding': 'chunked' }
    for (let round = 0; round < 10; round++) {
      expect((await register(body)).status).toBe(413)
      expect((await register(body, chunked)).status).toBe(413)
      for (const [method, path, status] of [
        ['POST', '/nowhere', 404],
        ['PUT', '/token/id', 405],
      ] as const) {
        expect((await call(method, path, { rawBody: body })).status).toBe(status)
      }
    }
  })

  it('a body of exactly the limit of the operation: is accepted', async () => {
    expect(await register(credentials().padEnd(maxBodyBytes, ' '))).toMatchObject({
      status: 200,
      code: 200,
    })
  })
})

describe('bytes that are no HTTP', () => {
  it.each([
    ['garbage', 'GARBAGE\r\n\r\n'],
    ['a method that there is none of', 'FETCH / HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['a binary preface', Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc])],
    ['a header without a name', 'GET /healthz HTTP/1.1\r\nhost: x\r\n: y\r\n\r\n'],
    ['a header with a NUL', 'GET /healthz HTTP/1.1\r\nhost: x\r\napp_id: a\0b\r\n\r\n'],
    ['a header name with a space', 'GET /healthz HTTP/1.1\r\nhost: x\r\napp id: a\r\n\r\n'],
    [
      'two lengths',
      'POST /token/id HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello',
    ],
    [
      'a length that is no number',
      'POST /token/id HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n',
    ],
    [
      'a length beside chunks',
      'POST /token/id HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n',
    ],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
    [
      'chunks inside of another coding',
      'POST /token/id HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n',
    ],
    ['two hosts', 'GET /healthz HTTP/1.1\r\nhost: x\r\nHost: y\r\n\r\n'],
    ['the same host twice', 'GET /healthz HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n'],
  ])('are answered with 400 and the envelope: %s', async (_, bytes) => {
    const answer = await answerTo(server.url, bytes)
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toEqual({
      code: answerCode.malformed_request,
      data: null,
      message: 'malformed HTTP request',
    })
  })

  it.each(['gzip', 'gzip, chunked', 'identity'])(
    'are answered with 501 when their body comes in the coding %s',
    async (coding) => {
      const answer = await answerTo(
        server.url,
        head('POST /token/id HTTP/1.1', `transfer-encoding: ${coding}`),
        '0\r\n\r\n',
      )
      expect(answer.status).toBe(501)
      expect(JSON.parse(answer.body)).toMatchObject({
        code: answerCode.transfer_coding_unknown,
        data: null,
      })
    },
  )

  it('a target in absolute form: is accepted, with and without a path', async () => {
    const { host } = new URL(server.url)
    const get = (target: string) => answerTo(server.url, head(`GET ${target} HTTP/1.1`))
    expect((await get(`http://${host}/healthz?x=1`)).status).toBe(200)
    expect((await get(`HTTP://elsewhere.example/healthz`)).status).toBe(200)
    expect((await get(`http://${host}`)).status).toBe(302)
    const body = credentials()
    const length = `content-length: ${body.length}`
    const answer = await answerTo(
      server.url,
      head(`POST http://${host}/user/register/v2 HTTP/1.1`, length),
      body,
    )
    expect(JSON.parse(answer.body)).toMatchObject({ code: 200 })
  })

  it('headers that are too large: HTTP 431', async () => {
    const answer = await answerTo(
      server.url,
      head('GET /user/profile HTTP/1.1', `access-token: hmu_${'x'.repeat(100_000)}`),
    )
    expect(answer.status).toBe(431)
    expect(JSON.parse(answer.body)).toMatchObject({
      code: answerCode.malformed_request,
      data: null,
    })
  })

  it('bad bytes in a chunked body: end the connection and leave nothing behind', async () => {
    const username = newName()
    using connection = await RawConnection.open(server.url)
    const body = JSON.stringify({ username, password: 'correct horse' })
    connection.send(head('POST /user/register/v2 HTTP/1.1', 'transfer-encoding: chunked'))
    connection.send(`${body.length.toString(16)}\r\n${body}\r\nno size\r\n`)
    await connection.closed()
    await expectCode(
      call('POST', '/token/user', { body: { name: username, password: 'correct horse' } }),
      'user_not_found',
    )
  })

  it('bytes that are no HTTP: never stop the server', async () => {
    for (const bytes of ['', '\r\n', 'GET', 'GET / HTTP/9.9\r\n\r\n', Buffer.alloc(1000, 0xff)]) {
      using connection = await RawConnection.open(server.url)
      connection.send(bytes)
    }
    expect((await call('GET', '/healthz')).status).toBe(200)
  })

  it('a body that stops half-way: leaves nothing behind', async () => {
    const username = newName()
    {
      using connection = await RawConnection.open(server.url)
      const body = JSON.stringify({ username, password: 'correct horse' })
      connection.send(
        head('POST /user/register/v2 HTTP/1.1', `content-length: ${body.length + 1}`) + body,
      )
    }
    await expectCode(
      call('POST', '/token/user', { body: { name: username, password: 'correct horse' } }),
      'user_not_found',
    )
  })
})

describe('a client that closes its side of the connection after its call', () => {
  it('half-closed connection: a message is stored and the call is answered', async () => {
    const alice = await server.http.newSession()
    const bob = await server.http.newSession()
    const body = JSON.stringify({ content: 'hello', content_type: 0, type: 1, targets: [bob.id] })
    const request = head(
      'POST /message/send HTTP/1.1',
      `access-token: ${alice.token}`,
      'content-type: application/json',
      `content-length: ${body.length}`,
    )
    using connection = await RawConnection.open(server.url)
    connection.send(request + body)
    connection.end()
    const { status, body: answer } = await connection.answer()
    expect([status, JSON.parse(answer).code]).toEqual([200, 200])
    await connection.closed()
  })
})

describe('the request ID', () => {
  const answers: Readonly<
    Record<string, () => Promise<{ readonly headers: Readonly<Record<string, unknown>> }>>
  > = {
    'a success': () => register(credentials()),
    'a failure': () => register('{}'),
    'an unknown path': () => call('GET', '/nowhere'),
    'a method not accepted': () => call('PUT', '/token/id'),
    'a body too large': () =>
      answerTo(server.url, head('POST /token/id HTTP/1.1', 'content-length: 9999999')),
    'a preflight': () =>
      call('OPTIONS', '/token/id', { headers: { origin: 'https://app.example.org' } }),
    'a page': () => call('GET', '/healthz'),
    'a refused page': () =>
      call('GET', '/metrics', { headers: { 'x-forwarded-for': '192.0.2.1' } }),
    'malformed HTTP': () => answerTo(server.url, 'GARBAGE\r\n\r\n'),
  }

  it.each(Object.keys(answers))('is on %s (rule A7)', async (kind) => {
    const { headers } = (await answers[kind]?.()) ?? { headers: {} }
    expect(headers['x-request-id']).toMatch(/^[0-9a-z-]{8,}$/)
  })

  it('request ID: is never the same', async () => {
    const all = await Promise.all(
      Array.from({ length: 50 }, () => call('POST', '/token/id', { body: {} })),
    )
    expect(new Set(all.map(({ headers }) => headers['x-request-id'])).size).toBe(50)
  })

  it('request ID: is that of the server, whatever the client sends', async () => {
    const { headers } = await call('POST', '/token/id', {
      body: {},
      headers: { 'x-request-id': 'theirs' },
    })
    expect(headers['x-request-id']).not.toContain('theirs')
  })
})

describe('every answer', () => {
  const headersOf = ({
    'cache-control': cache,
    'x-content-type-options': type,
  }: Answer['headers']) => [cache, type]

  it('every answer: forbids caches and content sniffing', async () => {
    const answers = [
      await register(credentials()),
      await call('POST', '/token/id', { body: {} }),
      await call('GET', '/nowhere'),
      await call('PATCH', '/token/id'),
      ...(await Promise.all(
        ['/healthz', '/readyz', '/metrics', '/openapi.json', '/asyncapi.json', '/docs'].map(
          (path) => call('GET', path),
        ),
      )),
      await call('OPTIONS', '/token/id'),
      await answerTo(server.url, 'GARBAGE\r\n\r\n'),
    ]
    for (const { headers } of answers) expect(headersOf(headers)).toEqual(['no-store', 'nosniff'])
  })
})
