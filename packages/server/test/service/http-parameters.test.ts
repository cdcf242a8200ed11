/** Bodies, queries and headers over HTTP (rules B3 to B5). */
import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { httpCalls } from '../support/http-calls.js'
import { sharedServer } from '../support/in-process-server.js'

const [backend] = anyBackend()
if (backend === undefined) throw new Error('no database')
const server = sharedServer(backend)
const { call, credentials, newName, register } = httpCalls(server)
const invalid = { status: 200, code: answerCode.invalid_parameter }

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
    const { api } = await server.http.newSession()
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
    const { api } = await server.http.newSession()
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
    const { api } = await server.http.newSession()
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
    const { api } = await server.http.newSession()
    const answer = await api.call('GET', `/user/profile${query}`)
    expect(answer.status).toBe(200)
    expect([answerCode.ok, answerCode.invalid_parameter]).toContain(answer.code)
  })

  it('query: may be empty after the question mark', async () => {
    const { api } = await server.http.newSession()
    expect((await api.call('GET', '/message/unread?')).code).toBe(200)
    expect((await api.call('GET', '/message/conversation_list?')).code).toBe(200)
  })

  it('query: a repeated parameter is refused', async () => {
    const twice = await server.http
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
    const { api } = await server.http.newSession()
    for (const text of ['%ff', '%c3%28', '%ed%a0%80', 'a%c3']) {
      expect(await api.call('PUT', `/user/profile?nick_name=${text}`), text).toMatchObject(invalid)
    }
    expect((await api.succeed('GET', '/user/profile')).data.nick_name).toBe('')
  })

  it('query: holds any text in percent encoding', async () => {
    const { api } = await server.http.newSession()
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

  it('headers: a proxy that drops the application is named in the answer', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.1' }
    const answer = await call('POST', '/token/id', { appId: null, headers, body: {} })
    expect(answer.envelope.message).toMatch(
      /header app_id is required \(proxies drop .*: nginx without underscores_in_headers on,/,
    )
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
    const session = await server.http.newSession()
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
    const answer = await server.http.admin().call('GET', '/user/profile', {
      headers: { user_id: Buffer.from(bad).toString('latin1'), group_id: '1e3' },
    })
    expect(answer).toMatchObject(invalid)
    if (bad.trim() !== '')
      expect(answer.envelope.message).toContain('header user_id must be a 64-bit integer')
    expect(answer.envelope.message).toContain('header group_id must be a 64-bit integer')
  })

  it('user-agent: is UTF-8 where it is valid, and Latin-1 elsewhere', async () => {
    const { api, id, password } = await server.http.newLogin()
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
      expect(
        await server.http.admin({ userId }).call('GET', '/user/profile'),
        userId,
      ).toMatchObject({ status: 200, code: answerCode.user_not_found })
    }
  })

  it('header names: are compared without case', async () => {
    const session = await server.http.newSession()
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
    const user = await server.http.register()
    const body = { user_id: user.id, password: user.password, device_guid: 'strange' }
    expect(await call('POST', '/token/id', { body, headers })).toMatchObject({
      status: 200,
      code: 200,
    })
  })
})
