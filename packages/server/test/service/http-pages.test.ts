/** Browser clients and pages. */
import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { httpCalls } from '../support/http-calls.js'
import { InProcessServer, sharedServer } from '../support/in-process-server.js'

const [backend] = anyBackend()
if (backend === undefined) throw new Error('no database')
const server = sharedServer(backend)
const { call, credentials, register } = httpCalls(server)

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
    await using listed = await InProcessServer.start(backend, {
      HERMOD_CORS_ORIGINS: `${origin},https://admin.example.org`,
    })
    const at = (method: string, from: string | undefined) =>
      listed.http.call(method, '/token/id', { headers: { ...preflight, origin: from } })
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
    await using closed = await InProcessServer.start(backend, { HERMOD_CORS_ORIGINS: 'off' })
    expect(
      (await closed.http.call('OPTIONS', '/token/id', { headers: preflight })).headers[
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
    expect(policy).toContain(
      "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self';",
    )
    expect(policy).not.toContain('unsafe')
    expect(reference.text).not.toMatch(/<style|<script>|<script [^>]*>[^<]|\sstyle=|\son\w+=/)
    const script = 'text/javascript'
    const loaded = [...reference.text.matchAll(/(?:href|src)="(docs\/[^"]+)"/g)]
    const types = {
      'docs/reference.css': 'text/css',
      'docs/search.js': script,
      'docs/try-it.js': script,
      'docs/request.js': script,
      'docs/reference.js': script,
    }
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

  it('pages: long ones are compressed for callers that take gzip', async () => {
    for (const path of ['/docs', '/openapi.json', '/asyncapi.json']) {
      const plain = await fetch(server.url + path, { headers: { 'accept-encoding': 'identity' } })
      const text = await plain.text()
      expect(plain.headers.get('vary'), path).toContain('accept-encoding')
      for (const [accepted, coding] of [
        ['gzip, deflate, br', 'gzip'],
        ['br;q=1, gzip;q=0.5', 'gzip'],
        ['gzip;q=0', null],
        ['gzip;q=0.0, br', null],
        ['br', null],
      ] as const) {
        const got = await fetch(server.url + path, { headers: { 'accept-encoding': accepted } })
        expect([got.headers.get('content-encoding'), await got.text()], accepted).toEqual([
          coding,
          text,
        ])
        if (coding) expect(Number(got.headers.get('content-length'))).toBeLessThan(300_000)
      }
    }
  })

  it('/: leads to the reference', async () => {
    for (const method of ['GET', 'HEAD']) {
      const { status, headers, text } = await call(method, '/', { appId: null })
      expect([status, headers.location, text]).toEqual([302, 'docs', ''])
    }
  })

  it('metrics: behind a proxy they are for callers that it does not forward', async () => {
    await using proxied = await InProcessServer.start(backend, { HERMOD_TRUST_PROXY: '127.0.0.1' })
    expect((await proxied.http.call('GET', '/metrics')).status).toBe(200)
    for (const address of ['192.0.2.1', '127.0.0.1']) {
      const headers = { 'x-forwarded-for': address }
      expect((await proxied.http.call('GET', '/metrics', { headers })).status).toBe(403)
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
