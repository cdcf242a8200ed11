/** The HTTP side of the pipeline, in which the database plays no part (rules A1, A2, A7, B4, B5). */
import { maxBodyBytes as maxBytesOf, registerUser } from '@hermod/protocol'
import {
  type Answer,
  type CallOptions,
  isFullRun,
  PostgresCluster,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { answerTo, RawConnection } from '../support/raw-http.js'

/** Of a registration. */
const maxBodyBytes = maxBytesOf(registerUser)
const checked = { HERMOD_CHECK_ANSWERS: 'on' }

let server: ServerProcess

beforeAll(async () => {
  server = await startServer({ env: checked })
})

afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
})

function call(method: string, path: string, options?: CallOptions): Promise<Answer> {
  return server.api.call(method, path, options)
}

/** Registers by a hand-written body. */
function register(
  rawBody: string | Uint8Array,
  headers: CallOptions['headers'] = {},
): Promise<Answer> {
  return call('POST', '/user/register/v2', { rawBody, headers })
}

let names = 0
function newName(): string {
  return `name_${++names}`
}

function credentials(more: object = {}): string {
  return JSON.stringify({ username: newName(), password: 'correct horse', ...more })
}

/** The head of a raw request to an operation. */
function head(line: string, ...headers: readonly string[]): string {
  return [
    line,
    `host: ${new URL(server.url).host}`,
    `app_id: ${server.appId}`,
    ...headers,
    '',
    '',
  ].join('\r\n')
}

const invalid = { status: 200, code: answerCode.invalid_parameter }

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
    const alice = await server.api.newSession()
    const bob = await server.api.newSession()
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

describe('a request body', () => {
  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'APPLICATION/JSON',
    'application/vnd.api+json',
    undefined,
  ])('may come as %s', async (contentType) => {
    expect(await register(credentials(), { 'content-type': contentType })).toMatchObject({
      status: 200,
      code: 200,
    })
  })

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/octet-stream',
    'nonsense',
  ])('is refused as %s', async (contentType) => {
    const answer = await register(credentials(), { 'content-type': contentType })
    expect(answer).toMatchObject(invalid)
    expect(answer.envelope.message).toBe(
      'invalid request parameter: content-type must be application/json',
    )
  })

  it.each([
    '{',
    '{"username":',
    '[',
    'username=a&password=b',
    '{"username":"a",}',
    "{'username':'a'}",
    '\0',
    '{} {}',
  ])('must be JSON, not %j', async (body) => {
    const answer = await register(body)
    expect(answer).toMatchObject(invalid)
    expect(answer.envelope.message).toBe('invalid request parameter: the body must be valid JSON')
  })

  it.each([
    '[1]',
    '"text"',
    '5',
    'null',
    'true',
    '[{"username":"abc","password":"correct horse"}]',
  ])('must be an object, not %s', async (body) => {
    const answer = await register(body)
    expect(answer).toMatchObject(invalid)
    expect(answer.envelope.message).toBe(
      'invalid request parameter: the body must be a JSON object',
    )
  })

  it('body: an empty list is an empty object, as PHP writes it', async () => {
    const answer = await register('[]')
    expect(answer.envelope.message).toContain('username is required')
  })

  it('body: must be UTF-8', async () => {
    for (const bytes of [[0xff, 0xfe], [0xc3], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const answer = await register(
        Buffer.concat([
          Buffer.from('{"username":"a'),
          Buffer.from(bytes),
          Buffer.from('","password":"correct horse"}'),
        ]),
      )
      expect(answer).toMatchObject(invalid)
      expect(answer.envelope.message).toBe(
        'invalid request parameter: the body must be valid UTF-8',
      )
    }
  })

  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('body: nested %s end at 64 levels, also in unknown fields', async (_, open, close) => {
    const nested = (levels: number) => {
      const unknown = `${open.repeat(levels - 1)}1${close.repeat(levels - 1)}`
      return register(credentials().replace('{', `{"unknown":${unknown},`))
    }
    expect(await nested(64)).toMatchObject({ code: 200 })
    expect((await nested(65)).envelope.message).toBe(
      'invalid request parameter: the body must be nested at most 64 levels deep',
    )
  })

  it('body: at most 20,000 members and entries, also in unknown fields', async () => {
    const { api } = await server.api.newSession()
    const violationsOf = async (entries: number) => {
      const rawBody = Buffer.from(`{"unknown":[0${',0'.repeat(entries - 1)}]}`)
      return (await api.call('POST', '/message/send', { rawBody })).envelope.message
    }
    const tooMany = `the body must have at most ${20_000} members and entries`
    expect(await violationsOf(19_999)).toContain('targets is required')
    expect(await violationsOf(20_000)).toBe(`invalid request parameter: ${tooMany}`)
  })

  it('body: numbers have at most 64 characters; longer than 64 bits is an error of the field', async () => {
    const answer = await register(`{"unknown":${'9'.repeat(65)}}`)
    expect(answer.envelope.message).toBe(
      'invalid request parameter: the body must have numbers of at most 64 characters',
    )
    const wide = { rawBody: `{"user_id":${'9'.repeat(64)}}` }
    expect((await call('POST', '/token/id', wide)).envelope.message).toContain('user_id must be')
  })

  it('body: a whole text beyond these limits is stored byte for byte (rule B4)', async () => {
    const { api } = await server.api.newSession()
    for (const text of ['['.repeat(65) + ']'.repeat(65), '9'.repeat(65)]) {
      await api.succeed('POST', '/user/public', { rawBody: text })
      expect((await api.succeed('GET', '/user/profile')).data).toMatchObject({ public_info: text })
    }
  })

  it('body: unknown fields are ignored (rule B5)', async () => {
    const strange = {
      role: 'admin',
      user_id: 1,
      list: [[]],
      status: { $ne: 0 },
      constructor: 1,
      '': null,
    }
    expect(await register(credentials(strange))).toMatchObject({ status: 200, code: 200 })
    expect(
      await register(credentials().replace('{', '{"__proto__":{"username":"taken over"},')),
    ).toMatchObject({ status: 200, code: 200 })
  })

  it('body: is read with DELETE and ignored with GET', async () => {
    const { api } = await server.api.newSession()
    const deleted = await api.call('DELETE', '/message/conversation', {
      body: { conversation_id: 'x' },
    })
    expect(deleted.envelope.message).toBe(
      'invalid request parameter: conversation_id must be a 64-bit integer',
    )
    expect(await api.call('GET', '/user/profile', { rawBody: '{broken' })).toMatchObject({
      status: 200,
      code: 200,
    })
  })
})

describe('a query', () => {
  it.each([
    '?',
    '?&',
    '?=',
    '?&&=&',
    '?other=1',
    '?%',
    '?%zz',
    '?a[]=1&a[b]=2',
    `?${'a=1&'.repeat(500)}`,
  ])('without anything known in it does no harm: %s', async (query) => {
    const { api } = await server.api.newSession()
    const answer = await api.call('GET', `/user/profile${query}`)
    expect(answer.status).toBe(200)
    expect([answerCode.ok, answerCode.invalid_parameter]).toContain(answer.code)
  })

  it('query: may be empty after the question mark', async () => {
    const { api } = await server.api.newSession()
    expect((await api.call('GET', '/message/unread?')).code).toBe(200)
    expect((await api.call('GET', '/message/conversation_list?')).code).toBe(200)
  })

  it('query: a repeated parameter is refused', async () => {
    const twice = await server.api
      .admin()
      .call('GET', '/user/list', { query: { page_num: [1, 2], page_size: [5, 5] } })
    expect(twice).toMatchObject(invalid)
    expect(twice.envelope.message).toBe(
      'invalid request parameter: page_num must be given once; page_size must be given once',
    )
  })

  it('query: may repeat the body but not contradict it (rule B3)', async () => {
    const username = newName()
    const body = { username, password: 'correct horse' }
    const differing = await call('POST', '/user/register/v2', {
      query: { username: `${username}x` },
      body,
    })
    expect(differing.envelope).toMatchObject({
      code: answerCode.invalid_parameter,
      message: 'invalid request parameter: username differs between query and body',
    })
    expect(await call('POST', '/user/register/v2', { query: { username }, body })).toMatchObject({
      status: 200,
      code: 200,
    })
  })

  it('query: must be UTF-8', async () => {
    const { api } = await server.api.newSession()
    for (const text of ['%ff', '%c3%28', '%ed%a0%80', 'a%c3']) {
      expect(await api.call('PUT', `/user/profile?nick_name=${text}`), text).toMatchObject(invalid)
    }
    expect((await api.succeed('GET', '/user/profile')).data.nick_name).toBe('')
  })

  it('query: holds any text in percent encoding', async () => {
    const { api } = await server.api.newSession()
    const nickName = 'é用😀 +&=%?#/'
    await api.succeed('PUT', '/user/profile', { query: { nick_name: nickName } })
    expect((await api.succeed('GET', '/user/profile')).data.nick_name).toBe(nickName)
  })
})

describe('headers', () => {
  it('headers: must name the application', async () => {
    for (const appId of [null, '']) {
      const answer = await call('POST', '/token/id', { appId, body: { user_id: 1, password: 'x' } })
      expect(answer).toMatchObject(invalid)
      expect(answer.envelope.message).toBe('invalid request parameter: header app_id is required')
    }
  })

  it.each([
    'nowhere',
    'TEST',
    'test ,test',
    "' OR 1=1 --",
    '../../../etc/passwd',
    '__proto__',
    'constructor',
    '%00',
    '*',
    '\u00ff',
    'x'.repeat(8000),
  ])('name an application that there is none of: %s', async (appId) => {
    const answer = await call('POST', '/token/id', { appId, body: { user_id: 1, password: 'x' } })
    expect(answer.status).toBe(200)
    expect(answer.envelope).toEqual({
      code: answerCode.app_not_found,
      data: null,
      message: 'app_id does not exist',
    })
  })

  it('headers given twice: are refused', async () => {
    const session = await server.api.newSession()
    const own = { userId: session.id, token: session.token }
    const twice = (name: string, value: unknown) =>
      call('GET', '/user/profile', { ...own, headers: { [name]: [String(value), String(value)] } })
    expect(await twice('app_id', server.appId)).toMatchObject({
      status: 200,
      code: answerCode.app_not_found,
    })
    expect(await twice('access-token', session.token)).toMatchObject({
      status: 200,
      code: answerCode.token_invalid,
    })
    expect(await twice('user_id', session.id)).toMatchObject(invalid)
  })

  it.each([
    'x',
    '1.5',
    ' ',
    '1 2',
    '0x10',
    '١',
    '9223372036854775808',
    '-9223372036854775809',
    '9'.repeat(5000),
  ])('hold IDs as 64-bit integers, not %s', async (bad) => {
    const answer = await server.api.admin().call('GET', '/user/profile', {
      headers: { user_id: Buffer.from(bad).toString('latin1'), group_id: '1e3' },
    })
    expect(answer).toMatchObject(invalid)
    if (bad.trim() !== '')
      expect(answer.envelope.message).toContain('header user_id must be a 64-bit integer')
    expect(answer.envelope.message).toContain('header group_id must be a 64-bit integer')
  })

  it('user-agent: is UTF-8 where it is valid, and Latin-1 elsewhere', async () => {
    const { api, id, password } = await server.api.newLogin()
    const names = { first: '聊天/1.0 (é)', second: 'caf\u00e9/1.0' }
    for (const [device_guid, name] of Object.entries(names)) {
      const bytes = Buffer.from(name, device_guid === 'first' ? 'utf8' : 'latin1')
      await api.succeed('POST', '/token/id', {
        // Node writes the headers of a text body as UTF-8, and those of bytes as they are.
        rawBody: Buffer.from(JSON.stringify({ user_id: id, password, device_guid })),
        headers: { 'user-agent': bytes.toString('latin1') },
      })
    }
    const { data } = await api.succeed<{ user_agent: string }[]>('GET', '/user/device/list')
    expect(data.map(({ user_agent }) => user_agent)).toEqual(Object.values(names))
  })

  it('headers with unknown IDs: are harmless', async () => {
    for (const userId of [
      '9223372036854775807',
      '-9223372036854775808',
      '9007199254740993',
      '0',
      '-1',
    ]) {
      expect(await server.api.admin({ userId }).call('GET', '/user/profile'), userId).toMatchObject(
        { status: 200, code: answerCode.user_not_found },
      )
    }
  })

  it('header names: are compared without case', async () => {
    const session = await server.api.newSession()
    const headers = { APP_ID: server.appId, 'Access-Token': session.token }
    expect(await call('GET', '/user/profile', { appId: null, token: null, headers })).toMatchObject(
      { status: 200, code: 200 },
    )
  })

  it('headers: may be as strange as HTTP allows', async () => {
    const headers = {
      'user-agent': '\u00ff<script>\t'.repeat(500),
      accept: 'x'.repeat(2000),
      cookie: '=;=;',
      expect: 'miracles',
      upgrade: 'h2c',
      connection: 'upgrade',
    }
    const user = await server.api.register()
    const body = { user_id: user.id, password: user.password, device_guid: 'strange' }
    expect(await call('POST', '/token/id', { body, headers })).toMatchObject({
      status: 200,
      code: 200,
    })
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

describe('browser clients', () => {
  const origin = 'https://app.example.org'
  const preflight = {
    origin,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'access-token, app_id, user_id, group_id',
  }

  it('browsers of any origin: may send our headers by default', async () => {
    for (const path of ['/message/send', '/healthz', '/nowhere']) {
      const { status, headers, text } = await call('OPTIONS', path, {
        appId: null,
        headers: preflight,
      })
      expect([status, text]).toEqual([204, ''])
      expect(headers).toMatchObject({
        'access-control-allow-origin': '*',
        'access-control-allow-methods': 'GET, POST, PUT, DELETE',
      })
      const allowed = headers['access-control-allow-headers']?.split(', ') ?? []
      expect(allowed).toEqual(
        expect.arrayContaining(['content-type', 'access-token', 'app_id', 'user_id', 'group_id']),
      )
      expect(headers['access-control-allow-credentials']).toBeUndefined()
    }
  })

  it('browsers: may read every answer and our headers', async () => {
    for (const answer of [
      await register(credentials(), { origin }),
      await call('POST', '/token/id', { headers: { origin } }),
      await call('GET', '/nowhere', { headers: { origin } }),
      await call('GET', '/healthz', { headers: { origin } }),
    ]) {
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      expect(answer.headers['access-control-expose-headers']?.split(', ').toSorted()).toEqual([
        'retry-after',
        'x-request-id',
      ])
    }
  })

  it('a list of origins: keeps other origins out', async () => {
    await using listed = await startServer({
      env: { ...checked, HERMOD_CORS_ORIGINS: `${origin},https://admin.example.org` },
    })
    const at = (method: string, from: string | undefined) =>
      listed.api.call(method, '/token/id', { headers: { ...preflight, origin: from } })
    for (const method of ['OPTIONS', 'POST']) {
      expect((await at(method, origin)).headers).toMatchObject({
        'access-control-allow-origin': origin,
        vary: expect.stringMatching(/origin/i),
      })
      for (const stranger of [
        'https://evil.example.org',
        `${origin}.evil.org`,
        'null',
        'http://app.example.org',
        undefined,
      ]) {
        expect(
          (await at(method, stranger)).headers['access-control-allow-origin'],
          stranger,
        ).toBeUndefined()
      }
    }
  })

  it('browsers: have no access to metrics and operator calls', async () => {
    for (const path of ['/metrics', '/metrics?x=1', '/operator/v1/app/list']) {
      for (const method of ['OPTIONS', 'GET', 'POST']) {
        const { headers } = await call(method, path, { headers: preflight })
        expect(headers['access-control-allow-origin'], `${method} ${path}`).toBeUndefined()
        expect(headers['access-control-allow-methods'], `${method} ${path}`).toBeUndefined()
      }
    }
  })

  it('HERMOD_CORS_ORIGINS=off: keeps all browsers out', async () => {
    await using closed = await startServer({ env: { ...checked, HERMOD_CORS_ORIGINS: 'off' } })
    expect(
      (await closed.api.call('OPTIONS', '/token/id', { headers: preflight })).headers[
        'access-control-allow-origin'
      ],
    ).toBeUndefined()
  })
})

describe('pages', () => {
  it('health pages: say that the server lives and is ready', async () => {
    expect(await call('GET', '/healthz', { appId: null })).toMatchObject({
      status: 200,
      text: '{"status":"ok"}',
    })
    expect(await call('GET', '/readyz', { appId: null })).toMatchObject({
      status: 200,
      text: '{"status":"ready"}',
    })
  })

  it('pages: answer GET and HEAD only', async () => {
    for (const path of [
      '/healthz',
      '/readyz',
      '/metrics',
      '/openapi.json',
      '/asyncapi.json',
      '/docs',
    ]) {
      expect(await call('HEAD', path), path).toMatchObject({ status: 200, text: '' })
      const posted = await call('POST', path, { body: {} })
      expect([posted.status, posted.headers.allow], path).toEqual([405, 'GET, HEAD'])
    }
  })

  it('pages: hold the contract and the reference', async () => {
    const contract = await call('GET', '/openapi.json')
    expect(contract.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(JSON.parse(contract.text)).toMatchObject({
      openapi: '3.1.0',
      paths: { '/message/send': { put: {}, post: {} } },
    })
    const reference = await call('GET', '/docs')
    expect(reference.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(reference.text).toContain('/message/send')
  })

  it('pages: hold the contract of the gateway, to which the reference page links', async () => {
    const contract = await call('GET', '/asyncapi.json')
    expect(contract.headers['content-type']).toBe('application/json; charset=utf-8')
    expect(JSON.parse(contract.text)).toMatchObject({
      asyncapi: '3.1.0',
      channels: { gateway: { address: '/gateway' } },
      operations: { 'session.open': { action: 'receive' }, 'message.send': { action: 'receive' } },
    })
    expect((await call('GET', '/docs')).text).toContain('href="asyncapi.json"')
  })

  it('reference page: loads style and script from this server only', async () => {
    const reference = await call('GET', '/docs')
    const policy = reference.headers['content-security-policy'] ?? ''
    expect(policy).toContain("default-src 'none'; style-src 'self'; script-src 'self';")
    expect(policy).not.toContain('unsafe')
    expect(reference.text).not.toMatch(/<style|<script>|<script [^>]*>[^<]|\sstyle=|\son\w+=/)
    const loaded = [...reference.text.matchAll(/(?:href|src)="(docs\/[^"]+)"/g)]
    const types = { 'docs/reference.css': 'text/css', 'docs/reference.js': 'text/javascript' }
    expect(loaded.map(([, path]) => path)).toEqual(Object.keys(types))
    for (const [path, type] of Object.entries(types)) {
      const asset = await call('GET', `/${path}`, { appId: null })
      expect(asset.status).toBe(200)
      expect(asset.headers['content-type']).toBe(`${type}; charset=utf-8`)
      const { etag = '' } = asset.headers
      const again = await call('GET', `/${path}`, { headers: { 'if-none-match': etag } })
      expect([again.status, again.text]).toEqual([304, ''])
    }
    for (const path of ['/docs/', '/docs/reference', '/docs/../package.json', '/docs/..%2fx'])
      expect((await call('GET', path)).status, path).toBe(404)
  })

  it('/: leads to the reference', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, text } = await call(method, '/', { appId: null })
      expect([status, headers.location, text]).toEqual([302, 'docs', ''])
    }
  })

  it('metrics: behind a proxy they are for callers that it does not forward', async () => {
    await using proxied = await startServer({
      env: { ...checked, HERMOD_TRUST_PROXY: '127.0.0.1' },
    })
    expect((await proxied.api.call('GET', '/metrics')).status).toBe(200)
    for (const address of ['192.0.2.1', '127.0.0.1']) {
      const headers = { 'x-forwarded-for': address }
      expect((await proxied.api.call('GET', '/metrics', { headers })).status).toBe(403)
    }
  })

  it('metrics: are for this machine and the operator only', async () => {
    await call('POST', '/token/id', { body: {} })
    const metrics = await call('GET', '/metrics', { appId: null })
    expect(metrics).toMatchObject({ status: 200 })
    expect(metrics.text).toMatch(
      /^hermod_request_answers_total\{.*operation="token\.id".*\} [1-9]/m,
    )

    const forwarded = (headers: Record<string, string>) =>
      call('GET', '/metrics', { headers: { 'x-forwarded-for': '192.0.2.1', ...headers } })
    expect((await forwarded({})).status).toBe(403)
    expect((await forwarded({ 'access-token': server.adminToken })).status).toBe(403)
    expect((await forwarded({ 'access-token': `${server.operatorToken}x` })).status).toBe(403)
    expect((await forwarded({ 'access-token': server.operatorToken })).status).toBe(200)
    expect((await forwarded({ authorization: `Bearer ${server.operatorToken}` })).status).toBe(200)
    for (const headers of [
      { forwarded: 'for=192.0.2.1' },
      { via: '1.1 proxy' },
      { 'x-real-ip': '192.0.2.1' },
      { 'x-forwarded-proto': 'https' },
      { host: 'chat.example.org' },
      { host: '127.0.0.1.example.org' },
    ])
      expect((await call('GET', '/metrics', { headers })).status).toBe(403)
    const { port } = new URL(server.url)
    for (const host of [`localhost:${port}`, '127.0.0.1', `[::1]:${port}`])
      expect((await call('GET', '/metrics', { headers: { host } })).status).toBe(200)
    expect((await forwarded({})).text).not.toContain('hermod_')
  })
})

if (isFullRun)
  describe('a page that needs a database which is gone', () => {
    const hasPostgres = testBackends().some(({ name }) => name === 'postgres')

    it.skipIf(!hasPostgres)('is a failure of that page and not the end of the server', async () => {
      await using cluster = await PostgresCluster.start()
      await using orphan = await startServer({
        databaseUrl: (await cluster.createDatabase()).url,
        env: checked,
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

describe('HERMOD_HTTP_STATUS=mirror', () => {
  it('HTTP_STATUS=mirror: failures have their HTTP class and the same envelope', async () => {
    await using mirror = await startServer({ env: { ...checked, HERMOD_HTTP_STATUS: 'mirror' } })
    const { api } = mirror
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
    ...checked,
    HERMOD_RATE_LIMIT: 'on',
    HERMOD_ADDRESS_RATE: '1',
    HERMOD_ADDRESS_BURST: '5',
  }

  it('a flooding address: HTTP 429 with Retry-After before other checks, whatever address it claims', async () => {
    await using limited = await startServer({ env: limits })
    const headers = (index: number) => ({
      'x-forwarded-for': `192.0.2.${index}`,
      forwarded: `for=192.0.2.${index}`,
    })
    const calls = Array.from({ length: 200 }, (_, index) =>
      limited.api.call('POST', '/token/id', { appId: null, headers: headers(index) }),
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
    expect(await limited.api.call('GET', '/healthz')).toMatchObject({ status: 200 })
    const comesThrough = async () =>
      (await limited.api.call('POST', '/token/id', { body: {} })).status === 200
    await waitFor(comesThrough, { what: 'the end of the refusal', timeoutMs: 20_000, everyMs: 200 })
  })

  it('a flooding address behind a trusted proxy: other addresses are served', async () => {
    await using limited = await startServer({ env: { ...limits, HERMOD_TRUST_PROXY: 'on' } })
    const from = (address: string) =>
      limited.api.call('POST', '/token/id', { body: {}, headers: { 'x-forwarded-for': address } })
    const answers = await Promise.all(Array.from({ length: 200 }, () => from('192.0.2.1')))
    expect(answers.some(({ status }) => status === 429)).toBe(true)
    expect((await from('192.0.2.2')).status).toBe(200)
  })
})

describe('SIGTERM', () => {
  it('SIGTERM: new calls get HTTP 503 with Retry-After, then the server ends', async () => {
    await using leaving = await startServer({ env: checked })
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
