/** The families of routes, on a server of its own: those that no operation of the product uses yet, too. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { request as httpRequest, type IncomingHttpHeaders, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { boolean, int64, type Operation, operation, string } from '@hermod/protocol'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadConfig } from '../config/config.js'
import { Turns } from '../lib/concurrency/turns.js'
import { data, handleDownload, handleUpload } from '../pipeline/call.js'
import { noCallLimits } from '../pipeline/call-limits.js'
import { Executor } from '../pipeline/executor.js'
import { Bounds } from './bounds/bounds.js'
import { Cors } from './cors.js'
import { Responses } from './responses.js'
import { assetRoutes } from './routes/assets.js'
import { operationRoutes } from './routes/operations.js'
import { pageRoutes } from './routes/pages.js'
import { createHttpServer } from './server.js'

const maxUploadBytes = 3_000_000
const shared = { tag: 'Tests', summary: 'Tests.', callers: 'user', data: boolean() } as const
const download = operation({
  ...shared,
  id: 'test.download',
  methods: ['GET'],
  path: '/test/file',
  credentials: 'query',
  query: { name: string() },
  answersFile: true,
})
const upload = operation({
  ...shared,
  id: 'test.upload',
  methods: ['POST', 'PUT'],
  path: '/test/upload',
  query: { name: string() },
  data: int64(),
  takesFile: { maxBytes: maxUploadBytes },
})
const plain = operation({ ...shared, id: 'test.plain', methods: ['POST'], path: '/test/plain' })

/** What the handlers saw. */
let seen: unknown[] = []
/** The files that are handed out, by name. */
let files: Record<string, () => { length: number | null; body: Readable }> = {}
let errors: unknown[] = []
let failures: unknown[] = []
let server: Server
let url: string
let folder: string
const sockets = new Set<Socket>()

const executor = new Executor({
  handlers: [
    handleDownload(download, async ({ name }, { principal }) => {
      seen.push(['download', name, principal.userId])
      const file = files[name]?.()
      if (!file) throw new Error('no such file')
      return { contentType: 'image/png', ...file }
    }),
    handleUpload(upload, async ({ name }, { upload: { contentType, length, body } }) => {
      seen.push(['upload', name, contentType, length])
      if (name === 'unread') return data(0)
      let size = 0
      try {
        for await (const chunk of body) size += (chunk as Buffer).length
        return data(size)
      } finally {
        seen.push(['read', name, size])
      }
    }),
  ],
  authenticator: {
    requireApp: () => {},
    findAdminToken: () => null,
    findUserToken: (_, token) =>
      token === 'hmu_valid' ? { userId: 7, deviceSn: null, tokenHash: 'hash' } : null,
    isOperatorToken: async () => false,
  },
  users: { requireUser: () => {} },
  limits: noCallLimits,
  turns: new Turns(),
  observer: { finished: () => {}, failed: (_call, _operation, error) => failures.push(error) },
  checkAnswers: true,
})

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'hermod-assets-'))
  mkdirSync(join(folder, 'site', 'fonts'), { recursive: true })
  writeFileSync(join(folder, 'secret.txt'), 'secret')
  writeFileSync(join(folder, 'site', 'app.js'), 'let a = 1\n')
  writeFileSync(join(folder, 'site', '.hidden'), 'hidden')
  writeFileSync(join(folder, 'site', 'a b.unknown'), 'bytes')
  writeFileSync(join(folder, 'site', 'fonts', 'one.woff2'), 'font')
  symlinkSync(join(folder, 'secret.txt'), join(folder, 'site', 'link.txt'))
  const cors = new Cors('*')
  const onError = (error: unknown) => void errors.push(error)
  const bounds = new Bounds({
    bounds: loadConfig({}).config.http.bounds,
    observer: { closed: () => {}, refused: () => {} },
    isProxy: () => false,
  })
  const responses = new Responses({
    cors,
    connections: bounds.connections,
    statusMode: 'envelope',
    isDraining: () => executor.isDraining,
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
    bounds,
    onError,
    families: [
      operationRoutes({
        executor,
        responses,
        bounds,
        operations: [download, upload, plain] as readonly unknown[] as Operation[],
        addressOf: () => 'local',
        principal: null,
      }),
      pageRoutes({ responses, cors, admit: () => {} }, { '/site': page }),
      assetRoutes({ responses, admit: () => {} }, '/site/', join(folder, 'site')),
    ],
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
  rmSync(folder, { recursive: true })
})

beforeEach(() => {
  seen = []
  errors = []
  failures = []
  files = {}
})

interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** Paths go out as they are written, dots and all. */
function send(
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: Readable | Buffer,
): Promise<Got> {
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
    if (body instanceof Readable) body.pipe(request)
    else request.end(body)
  })
}

const user = { app_id: 'home', 'access-token': 'hmu_valid' }
const inQuery = 'app_id=home&access-token=hmu_valid'
const envelope = ({ body }: Got) => JSON.parse(body.toString())

describe('an answer that is a file', () => {
  const bytes = Buffer.alloc(5_000_000, 'abc')
  /** In pieces, as a disk gives them. */
  const whole = () => ({
    length: bytes.length,
    body: Readable.from([bytes.subarray(0, 1000), bytes.subarray(1000)], { objectMode: false }),
  })

  it('comes as it is, with its length, type and a request ID', async () => {
    files.one = whole
    const got = await send('GET', '/test/file?name=one', user)
    expect(got.status).toBe(200)
    expect(got.headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(bytes.length),
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    })
    expect(got.body.equals(bytes)).toBe(true)
    expect([errors, failures]).toEqual([[], []])
  })

  it('may have a length that nobody knows beforehand', async () => {
    files.one = () => ({ ...whole(), length: null })
    const got = await send('GET', '/test/file?name=one', user)
    expect(got.headers).toMatchObject({ 'transfer-encoding': 'chunked' })
    expect(got.body.equals(bytes)).toBe(true)
  })

  it('to HEAD has the headers alone, and the file is let go', async () => {
    const { length, body } = whole()
    files.one = () => ({ length, body })
    const got = await send('HEAD', '/test/file?name=one', user)
    expect([got.status, got.headers['content-length'], got.body.length]).toEqual([
      200,
      String(bytes.length),
      0,
    ])
    expect(body.destroyed).toBe(true)
    const refused = await send('POST', '/test/file?name=one', user)
    expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD'])
  })

  it('is an envelope when it is a failure', async () => {
    const got = await send('GET', '/test/file', user)
    expect([got.status, got.headers['content-type']]).toEqual([
      200,
      'application/json; charset=utf-8',
    ])
    expect(envelope(got)).toMatchObject({ code: 10002, data: null })
  })

  it('takes app_id and access-token from the query too, and from the headers first', async () => {
    files.one = () => ({ length: 1, body: Readable.from([Buffer.from('x')]) })
    expect((await send('GET', `/test/file?name=one&${inQuery}`)).body.toString()).toBe('x')
    expect((await send('GET', '/test/file?name=one&app_id=home', user)).body.toString()).toBe('x')
    const wrong = { ...user, 'access-token': 'hmu_other' }
    expect(envelope(await send('GET', `/test/file?name=one&${inQuery}`, wrong)).code).toBe(10008)
    expect(envelope(await send('GET', '/test/file?name=one')).code).toBe(10002)
    expect(
      envelope(await send('GET', `/test/file?name=one&${inQuery}&access-token=hmu_valid`)).code,
    ).toBe(10008)
    expect(seen).toHaveLength(2)
  })

  it('takes them from the query of no other operation', async () => {
    expect(envelope(await send('POST', `/test/plain?${inQuery}`)).code).toBe(10002)
    expect(envelope(await send('POST', `/test/plain?${inQuery}`, { app_id: 'home' })).code).toBe(
      10003,
    )
  })

  it.each([null, 10_000_000_000])(
    'of length %s is read no faster than the client reads it, and not at all once the client is gone',
    async (length) => {
      let given = 0
      const chunk = Buffer.alloc(65_536)
      const body = new Readable({
        read() {
          given += chunk.length
          this.push(chunk)
        },
      })
      files.endless = () => ({ length, body })
      const { port } = server.address() as AddressInfo
      const socket = connect(port, '127.0.0.1')
      socket.write(`GET /test/file?name=endless&${inQuery} HTTP/1.1\r\nhost: x\r\n\r\n`)
      await new Promise((resolve) => socket.once('data', resolve))
      socket.pause()
      // What the kernel keeps for a client that does not read has an end.
      let before = -1
      while (before !== given && given < 64 * 1_048_576) {
        before = given
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      expect(given).toBeLessThan(64 * 1_048_576)
      const closed = new Promise((resolve) => body.once('close', resolve))
      socket.destroy()
      await closed
      expect([body.destroyed, errors]).toEqual([true, []])
    },
  )

  it('that cannot be read to its end is cut off, not ended, and reported', async () => {
    const broken = new Error('disk failed')
    files.one = () => ({
      length: 10,
      body: Readable.from(
        (async function* () {
          yield Buffer.from('abc')
          throw broken
        })(),
      ),
    })
    await expect(send('GET', '/test/file?name=one', user)).rejects.toThrow()
    expect(errors).toEqual([broken])
  })

  it('that has another length than it said is cut off and reported', async () => {
    files.one = () => ({ length: 10, body: Readable.from([Buffer.from('abc')]) })
    await expect(send('GET', '/test/file?name=one', user)).rejects.toThrow()
    expect(errors).toMatchObject([{ message: 'a file of 10 bytes has others' }])
    files.one = () => ({ length: 2, body: Readable.from([Buffer.from('abc')]) })
    await expect(send('GET', '/test/file?name=one', user)).rejects.toThrow()
  })
})

describe('an upload', () => {
  const large = Buffer.alloc(maxUploadBytes, 'x')

  it('may be larger than 1 MiB, and reaches the handler with its type and length', async () => {
    const got = await send(
      'PUT',
      '/test/upload?name=one',
      { ...user, 'content-type': 'image/png' },
      large,
    )
    expect(envelope(got)).toMatchObject({ code: 200, data: maxUploadBytes })
    const chunked = await send('POST', '/test/upload?name=two', user, Readable.from([large]))
    expect(envelope(chunked)).toMatchObject({ code: 200, data: maxUploadBytes })
    expect(seen).toEqual([
      ['upload', 'one', 'image/png', maxUploadBytes],
      ['read', 'one', maxUploadBytes],
      ['upload', 'two', 'application/octet-stream', null],
      ['read', 'two', maxUploadBytes],
    ])
  })

  it('that is announced as larger than its limit is a real 413 before anybody is asked', async () => {
    const length = { 'content-length': String(maxUploadBytes + 1) }
    const body = Buffer.alloc(maxUploadBytes + 1)
    const got = await send('POST', '/test/upload?name=one', { ...user, ...length }, body)
    expect([got.status, envelope(got).code, seen]).toEqual([413, 41300, []])
  })

  it('that grows beyond its limit is a real 413, which a client that goes on to send can read', async () => {
    const body = Readable.from([large, large, large])
    const got = await send('POST', '/test/upload?name=one', user, body)
    expect([got.status, envelope(got).code]).toEqual([413, 41300])
    expect([errors, failures]).toEqual([[], []])
  })

  it('of a caller that is refused is not handed to anybody', async () => {
    const anonymous = await send('POST', '/test/upload?name=one', { app_id: 'home' }, large)
    expect(envelope(anonymous)).toMatchObject({ code: 10003 })
    const nameless = await send('POST', '/test/upload', user, large)
    expect(envelope(nameless)).toMatchObject({ code: 10002 })
    expect(seen).toEqual([])
  })

  it('may be left unread', async () => {
    const got = await send('POST', '/test/upload?name=unread', user, large)
    expect(envelope(got)).toMatchObject({ code: 200, data: 0 })
  })

  it('whose client goes away in the middle ends the handler, and is no failure of the service', async () => {
    const { port } = server.address() as AddressInfo
    const socket = connect(port, '127.0.0.1')
    socket.write(
      `POST /test/upload?name=one HTTP/1.1\r\nhost: x\r\napp_id: home\r\naccess-token: hmu_valid\r\ncontent-length: 1000\r\n\r\nabc`,
    )
    await until(() => seen.length === 1)
    socket.destroy()
    await until(() => seen.length === 2)
    expect(seen[1]).toEqual(['read', 'one', 3])
    expect([errors, failures]).toEqual([[], []])
  })

  it('may take longer than other requests as long as it makes progress', async () => {
    const { port } = server.address() as AddressInfo
    const headers = 'host: x\r\napp_id: home\r\naccess-token: hmu_valid\r\ncontent-length: 6'
    const answers: string[] = []
    const open = async (path: string) => {
      const socket = connect(port, '127.0.0.1')
      const index = answers.push('') - 1
      socket.on('data', (chunk) => {
        answers[index] += chunk.toString()
      })
      socket.write(`POST ${path} HTTP/1.1\r\n${headers}\r\n\r\nabc`)
      await new Promise((resolve) => socket.once('connect', resolve))
      return socket
    }
    const uploading = await open('/test/upload?name=one')
    await until(() => seen.length === 1)
    const slow = await open('/test/plain')
    await until(() => sockets.size >= 2)
    for (const socket of sockets) {
      const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      server.emit('clientError', late, socket)
    }
    await until(() => answers[1]?.startsWith('HTTP/1.1 408') ?? false)
    uploading.write('def')
    await until(() => answers[0]?.includes('"data":6') ?? false)
    uploading.destroy()
    slow.destroy()
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

it('draining waits for the files that are being read', async () => {
  const pieces = Readable.from([Buffer.from('abc')])
  const own = new Executor({
    handlers: [
      handleDownload(download, async () => ({
        contentType: 'text/plain',
        length: 3,
        body: pieces,
      })),
    ],
    authenticator: {
      requireApp: () => {},
      findAdminToken: () => null,
      findUserToken: () => null,
      isOperatorToken: async () => false,
    },
    users: { requireUser: () => {} },
    limits: noCallLimits,
    turns: new Turns(),
    observer: { finished: () => {}, failed: () => {} },
    checkAnswers: true,
  })
  const reply = await own.execute(
    download as Operation,
    {
      requestId: 'r',
      address: 'local',
      userAgent: '',
      principal: {
        ...{ kind: 'user', appId: 'home', userId: 7, deviceSn: null, tokenHash: 'hash' },
        ...{ isAdminToken: false, adminOf: null, actorId: 7, tokenOwnerId: 7 },
      } as const,
      query: { name: 'one' },
      body: () => undefined,
    },
    () => 'never',
  )
  expect(reply.kind).toBe('file')
  let isDrained = false
  const drained = own.drain().then(() => {
    isDrained = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(isDrained).toBe(false)
  pieces.resume()
  await drained
})

async function until(isTrue: () => boolean): Promise<void> {
  const end = Date.now() + 20_000
  while (!isTrue()) {
    if (Date.now() > end) throw new Error('it did not come to be')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
