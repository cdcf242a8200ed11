/** The families of routes that are no operations, on a server of their own. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../config/config.js'
import { Edge } from '../../edge/edge.js'
import { Responses } from '../responses.js'
import { createHttpServer } from '../server.js'
import { assetRoutes } from './assets.js'
import { pageRoutes } from './pages.js'

let server: Server
let url: string
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hermod-assets-'))
  mkdirSync(join(folder, 'site', 'fonts'), { recursive: true })
  writeFileSync(join(folder, 'secret.txt'), 'secret')
  writeFileSync(join(folder, 'site', 'app.js'), 'let a = 1\n')
  writeFileSync(join(folder, 'site', '.hidden'), 'hidden')
  writeFileSync(join(folder, 'site', 'a b.unknown'), 'bytes')
  writeFileSync(join(folder, 'site', 'fonts', 'one.woff2'), 'font')
  symlinkSync(join(folder, 'secret.txt'), join(folder, 'site', 'link.txt'))
  const onError = (error: unknown) => {
    throw error
  }
  const edge = new Edge({
    bounds: loadConfig({}).config.http.bounds,
    observer: { closed: () => {}, refused: () => {} },
    trustProxy: false,
    publicUrl: null,
    origins: '*',
  })
  const responses = new Responses({
    edge,
    statusMode: 'envelope',
    isDraining: () => false,
    onError,
  })
  const page = async () => ({
    status: 200,
    contentType: 'text/html; charset=utf-8',
    body: '<p>page</p>',
    contentPolicy: "default-src 'none'",
  })
  server = createHttpServer({
    responses,
    edge,
    upgrades: null,
    keepAliveMs: 620_000,
    onError,
    families: [
      pageRoutes({ responses, admit: () => {} }, { '/site': page }),
      assetRoutes({ responses, admit: () => {} }, '/site/', join(folder, 'site')),
    ],
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
})

interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Paths go out as they are written, dots and all. */
function send(method: string, path: string, headers: Record<string, string> = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, path, headers, agent: false }, async (response) => {
      const chunks = await response.toArray().catch(reject)
      if (chunks)
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks),
        })
    })
    request.once('error', reject)
    request.end()
  })
}

describe('a connection', () => {
  it('is kept for the configured time, which the answer names', async () => {
    const answer = await fetch(`${url}/site`)
    await answer.text()
    expect(answer.headers.get('keep-alive')).toBe('timeout=620')
  })
})

describe('assets', () => {
  it('are the files of a folder, with their types', async () => {
    const got = await send('GET', '/site/app.js')
    expect([got.status, got.body.toString()]).toEqual([200, 'let a = 1\n'])
    expect(got.headers).toMatchObject({
      'content-type': 'text/javascript; charset=utf-8',
      'content-length': '10',
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
    })
    expect((await send('GET', '/site/fonts/one.woff2?v=1')).headers['content-type']).toBe(
      'font/woff2',
    )
    expect((await send('GET', '/site/a%20b.unknown')).headers['content-type']).toBe(
      'application/octet-stream',
    )
  })

  it('come again only when they are others', async () => {
    const { etag = '' } = (await send('GET', '/site/app.js')).headers
    for (const known of [etag, `"x", ${etag}`]) {
      const again = await send('GET', '/site/app.js', { 'if-none-match': known })
      expect([again.status, again.body.length, again.headers.etag]).toEqual([304, 0, etag])
    }
    expect((await send('GET', '/site/app.js', { 'if-none-match': '"x"' })).status).toBe(200)
  })

  it('answer GET and HEAD only', async () => {
    const head = await send('HEAD', '/site/app.js')
    expect([head.status, head.headers['content-length'], head.body.length]).toEqual([200, '10', 0])
    const posted = await send('POST', '/site/app.js')
    expect([posted.status, posted.headers.allow]).toEqual([405, 'GET, HEAD'])
  })

  it.each([
    '/site/',
    '/site/fonts',
    '/site/fonts/',
    '/site/nothing.js',
    '/site/../secret.txt',
    '/site/..%2fsecret.txt',
    '/site/%2e%2e/secret.txt',
    '/site/fonts/../../secret.txt',
    '/site//app.js',
    '/site/./app.js',
    '/site/app.js/',
    '/site/app.js%00',
    '/site/link.txt',
    '/site/.hidden',
    '/site/constructor',
    '/siteapp.js',
  ])('are nothing else: %s', async (path) => {
    for (const method of ['GET', 'HEAD', 'POST'])
      expect((await send(method, path)).status, method).toBe(404)
  })
})

it('a page says what it may load', async () => {
  const got = await send('GET', '/site')
  expect(got.headers['content-security-policy']).toBe("default-src 'none'")
})
