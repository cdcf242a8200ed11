/** How files are answered on HTTP: headers, conditions, ranges, slow and broken reading. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { waitFor } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ByteRange } from '../../dist/lib/system/byte-range.js'
import { answerCode } from '../support/answer-codes.js'
import {
  contentOf,
  envelopeOf,
  type FileServer,
  type Got,
  send,
  startFileServer,
  user,
  userInQuery,
} from '../support/files/file-server.js'

let server: FileServer
const small = randomBytes(10_000)
const large = randomBytes(1_000_000)

beforeAll(async () => {
  server = await startFileServer()
})

afterAll(() => server[Symbol.asyncDispose]())

beforeEach(() => {
  for (const list of [server.seen, server.errors, server.codes]) list.length = 0
  server.files.clear()
  server.files.set('small', contentOf(small))
  server.files.set('large', contentOf(large))
})

const get = (name: string, headers: Record<string, string> = {}, method = 'GET') =>
  send(`${server.url}/test/file?name=${name}`, method, { ...user, ...headers })

/** Status, content-range and length of the body, and whether the bytes are those of the file. */
function summary(got: Got, expected: Buffer) {
  const { status, headers, body } = got
  expect(headers['content-length']).toBe(String(body.length))
  return [status, headers['content-range'], body.equals(expected)]
}

describe('a file', () => {
  it.each([
    ['small', small],
    ['large', large],
    ['empty', Buffer.alloc(0)],
  ])('that is %s comes as it is, with what is to be known of it', async (name, bytes) => {
    server.files.set(name, contentOf(bytes, { etag: 'abc', fileName: 'a.png' }))
    const got = await get(name)
    expect(summary(got, bytes)).toEqual([200, undefined, true])
    expect(got.headers).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': 'inline; filename=a.png',
      etag: '"abc"',
      'last-modified': 'Fri, 02 Jan 2026 03:04:05 GMT',
      'cache-control': 'private, max-age=600, immutable',
      'accept-ranges': 'bytes',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'cross-origin',
      'access-control-allow-origin': '*',
      'x-request-id': expect.stringMatching(/./),
    })
    expect(got.headers).not.toHaveProperty('content-security-policy')
    expect([server.errors, server.codes]).toEqual([[], [200]])
  })

  it('that could do harm is an attachment in a sandbox', async () => {
    const page = Buffer.from('<script>alert(1)</script>')
    const content = { contentType: 'text/html', disposition: 'attachment' as const }
    server.files.set('page', contentOf(page, content))
    const { headers } = await get('page')
    expect(headers).toMatchObject({
      'content-disposition': 'attachment',
      'content-security-policy': "sandbox; default-src 'none'",
      'x-content-type-options': 'nosniff',
    })
  })

  it.each([
    ['plain.txt', 'inline; filename=plain.txt'],
    ['with space.txt', 'inline; filename="with space.txt"'],
    ['a "b" \\ c.txt', 'inline; filename="a \\"b\\" \\\\ c.txt"'],
    ['naïve.txt', `inline; filename="na?ve.txt"; filename*=UTF-8''na%C3%AFve.txt`],
    ['图片.png', `inline; filename="??.png"; filename*=UTF-8''%E5%9B%BE%E7%89%87.png`],
    ['a%41.txt', `inline; filename=a%41.txt; filename*=UTF-8''a%2541.txt`],
    ["it's;(1).txt", `inline; filename="it's;(1).txt"`],
  ])('called %s says so in a way that all clients read', async (fileName, expected) => {
    server.files.set('named', contentOf(small, { fileName }))
    expect((await get('named')).headers['content-disposition']).toBe(expected)
  })

  it('to HEAD has the headers of GET and is not read', async () => {
    const notRead = async () => {
      throw new Error('it was read')
    }
    const content = contentOf(large, { open: notRead, read: notRead })
    for (const headers of [{}, { range: 'bytes=0-0' }, { range: 'bytes=9999999-' }]) {
      server.files.set('unread', content)
      const head = await get('unread', headers, 'HEAD')
      expect([head.status, head.headers['content-length'], head.body.length]).toEqual([
        200,
        String(large.length),
        0,
      ])
      server.files.set('unread', contentOf(large))
      const whole = await get('unread')
      const volatile = { date: '', 'x-request-id': '' }
      expect({ ...head.headers, ...volatile }).toEqual({ ...whole.headers, ...volatile })
    }
    const refused = await get('small', {}, 'POST')
    expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD'])
    expect(server.errors).toEqual([])
  })

  it('may be somewhere else', async () => {
    const location = 'https://store.example/a?b=c&d=%20'
    const file = { contentType: 'image/png', size: 12_345, fileName: 'a.png' } as const
    server.files.set('away', { kind: 'redirect', location, disposition: 'inline', ...file })
    const conditions = { range: 'bytes=0-1', 'if-none-match': '*' }
    const got = await get('away', conditions)
    expect([got.status, got.headers.location]).toEqual([302, location])
    expect([got.headers['content-length'], got.body.length]).toEqual(['0', 0])
    const head = await get('away', conditions, 'HEAD')
    expect([head.status, head.headers.location, head.body.length]).toEqual([200, undefined, 0])
    expect(head.headers).toMatchObject({
      'content-type': 'image/png',
      'content-length': '12345',
      'content-disposition': 'inline; filename=a.png',
      'accept-ranges': 'bytes',
    })
    // The store has validators of its own.
    expect(head.headers).not.toHaveProperty('etag')
    for (const { headers } of [got, head])
      expect(headers).toMatchObject({
        'cache-control': 'no-store',
        'access-control-allow-origin': '*',
      })
  })

  it('that fails is an envelope, and a failure of the call', async () => {
    expect(envelopeOf(await get(''))).toMatchObject({ code: answerCode.internal_error, data: null })
    const broken = async () => {
      throw new Error('disk failed')
    }
    server.files.set('broken', contentOf(large, { open: broken }))
    server.files.set('broken2', contentOf(small, { read: broken }))
    for (const name of ['broken', 'broken2']) {
      const got = await get(name)
      expect([got.status, got.headers['content-type']]).toEqual([
        500,
        'application/json; charset=utf-8',
      ])
      expect(got.headers).not.toHaveProperty('etag')
      expect(envelopeOf(got).code).toBe(answerCode.internal_error)
    }
    expect(server.codes).toEqual([
      answerCode.internal_error,
      answerCode.internal_error,
      answerCode.internal_error,
    ])
  })

  it('takes app_id and access-token from the query too, and from the headers first', async () => {
    const at = (query: string, headers: Record<string, string> = {}) =>
      send(`${server.url}/test/file?name=small${query}`, 'GET', headers)
    const code = async (got: Promise<Got>) => envelopeOf(await got).code
    expect((await at(`&${userInQuery}`)).body.equals(small)).toBe(true)
    expect((await at('&app_id=home', user)).body.equals(small)).toBe(true)
    const wrong = { ...user, 'access-token': 'hmu_other' }
    expect(await code(at(`&${userInQuery}`, wrong))).toBe(answerCode.token_invalid)
    expect(await code(at(''))).toBe(answerCode.invalid_parameter)
    expect(await code(at(`&${userInQuery}&access-token=hmu_valid`))).toBe(answerCode.token_invalid)
    expect(server.seen).toHaveLength(2)
    const plain = (query: string, headers = {}) =>
      send(`${server.url}/test/plain?${query}`, 'POST', headers)
    expect(await code(plain(userInQuery))).toBe(answerCode.invalid_parameter)
    expect(await code(plain(userInQuery, { app_id: 'home' }))).toBe(answerCode.token_missing)
  })
})

describe('pages of other origins', () => {
  const origin = 'https://page.example'

  it('may read a file, also one that was fetched without an origin before', async () => {
    for (const headers of [{}, { origin }, { origin, range: 'bytes=0-0' }]) {
      const got = await get('small', headers)
      expect(got.headers['access-control-allow-origin']).toBe('*')
      const exposed = got.headers['access-control-expose-headers']?.split(', ') ?? []
      expect(exposed).toEqual(expect.arrayContaining(['etag', 'content-range']))
    }
  })

  it('are those that may call, where there is a list', async () => {
    await using own = await startFileServer({ origins: [origin] })
    own.files.set('small', contentOf(small))
    const ask = async (headers: Record<string, string>) => {
      const got = await send(`${own.url}/test/file?name=small`, 'GET', { ...user, ...headers })
      return [got.headers['access-control-allow-origin'], got.headers.vary]
    }
    expect(await ask({ origin })).toEqual([origin, 'origin'])
    expect(await ask({ origin: 'https://other.example' })).toEqual([undefined, 'origin'])
    expect(await ask({})).toEqual([undefined, 'origin'])
  })
})

describe('a condition', () => {
  const etag = () => `"${contentOf(small).etag}"`
  const modified = 'Fri, 02 Jan 2026 03:04:05 GMT'
  const before = 'Fri, 02 Jan 2026 03:04:04 GMT'

  it.each([
    [() => ({ 'if-none-match': etag() }), 304],
    [() => ({ 'if-none-match': `W/${etag()}` }), 304],
    [() => ({ 'if-none-match': `"a", ${etag()}` }), 304],
    [() => ({ 'if-none-match': '*' }), 304],
    [() => ({ 'if-none-match': '"a"' }), 200],
    [() => ({ 'if-none-match': '"a"', 'if-modified-since': modified }), 200],
    [() => ({ 'if-modified-since': modified }), 304],
    [() => ({ 'if-modified-since': before }), 200],
    [() => ({ 'if-modified-since': 'never' }), 200],
    [() => ({ 'if-match': etag() }), 200],
    [() => ({ 'if-match': `"a", ${etag()}` }), 200],
    [() => ({ 'if-match': '*' }), 200],
    [() => ({ 'if-match': '"a"' }), 412],
    [() => ({ 'if-match': `W/${etag()}` }), 412],
    [() => ({ 'if-match': '"a"', 'if-none-match': etag() }), 412],
    [() => ({ 'if-match': etag(), 'if-none-match': etag() }), 304],
    [() => ({ 'if-match': etag(), 'if-unmodified-since': before }), 200],
    [() => ({ 'if-unmodified-since': modified }), 200],
    [() => ({ 'if-unmodified-since': before }), 412],
    [() => ({ 'if-unmodified-since': 'never' }), 200],
    [() => ({ 'if-none-match': etag(), range: 'bytes=99999-' }), 304],
    [() => ({ 'if-match': '"a"', range: 'bytes=0-0' }), 412],
  ])('%s is %i', async (headers, status) => {
    for (const method of ['GET', 'HEAD']) {
      const got = await get('small', headers(), method)
      expect([got.status, got.headers.etag]).toEqual([status, etag()])
      expect(got.body.length).toBe(status === 200 && method === 'GET' ? small.length : 0)
      expect(got.headers['content-length']).toBe(
        { 200: String(small.length), 412: '0' }[status as number],
      )
    }
  })

  it.each([
    [() => etag(), 206],
    [() => modified, 206],
    [() => '"a"', 200],
    [() => `W/${etag()}`, 200],
    [() => before, 200],
    [() => 'Sat, 03 Jan 2026 03:04:05 GMT', 200],
  ])('on a range, %s, is %i', async (other, status) => {
    const got = await get('small', { range: 'bytes=5-9', 'if-range': other() })
    const expected = status === 206 ? small.subarray(5, 10) : small
    expect(summary(got, expected)).toEqual([
      status,
      status === 206 ? `bytes 5-9/${small.length}` : undefined,
      true,
    ])
  })
})

describe('a range', () => {
  it.each([
    ['small', small],
    ['large', large],
  ])('of a %s file is its bytes', async (name, bytes) => {
    const end = bytes.length - 1
    const range = (text: string) => get(name, { range: text })
    expect(summary(await range('bytes=0-0'), bytes.subarray(0, 1))).toEqual([
      206,
      `bytes 0-0/${bytes.length}`,
      true,
    ])
    expect(summary(await range('bytes=100-'), bytes.subarray(100))).toEqual([
      206,
      `bytes 100-${end}/${bytes.length}`,
      true,
    ])
    expect(summary(await range('bytes=-100'), bytes.subarray(-100))).toEqual([
      206,
      `bytes ${end - 99}-${end}/${bytes.length}`,
      true,
    ])
    expect(summary(await range('bytes=5-3'), bytes)).toEqual([200, undefined, true])
    const outside = await range(`bytes=${bytes.length}-`)
    expect(summary(outside, Buffer.alloc(0))).toEqual([416, `bytes */${bytes.length}`, true])
    expect(outside.headers).not.toHaveProperty('content-type')
  })

  it('of any file equals the slice', async () => {
    const sizes = [1, 2, 65_535, 65_536, 65_537, 200_000]
    const range = fc.tuple(fc.nat(210_000), fc.nat(210_000)).map(([a, b]) => ({
      first: Math.min(a, b),
      last: Math.max(a, b),
    }))
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...sizes),
        fc.array(range, { minLength: 1, maxLength: 6 }),
        async (size, ranges) => {
          const bytes = large.subarray(0, size)
          server.files.set('any', contentOf(bytes))
          const asked = ranges.map(({ first, last }) => `${first}-${last}`).join(',')
          const got = await get('any', { range: `bytes=${asked}` })
          const isAsked = (at: number) =>
            ranges.some(({ first, last }) => first <= at && at <= last)
          if (ranges.every(({ first }) => first >= size)) {
            expect(got.status).toBe(416)
            return
          }
          expect(got.status).toBe(206)
          expect(got.headers['content-length']).toBe(String(got.body.length))
          const parts = partsOf(got)
          const covered = new Uint8Array(size)
          for (const { start, end, bytes: part } of parts) {
            expect(part.equals(bytes.subarray(start, end + 1))).toBe(true)
            covered.fill(1, start, end + 1)
          }
          expect(covered.every((is, at) => (is === 1) === isAsked(at))).toBe(true)
        },
      ),
      { numRuns: 60 },
    )
    expect(server.errors).toEqual([])
  })

  it.each([
    ['small', small],
    ['large', large],
  ])('of several of a %s file are parts with a type each', async (name, bytes) => {
    const got = await get(name, { range: 'bytes=0-9,500-599,-50' })
    expect(got.status).toBe(206)
    expect(got.headers).not.toHaveProperty('content-range')
    expect(got.headers['content-length']).toBe(String(got.body.length))
    const parts = partsOf(got)
    expect(parts.map(({ start, end, type }) => [start, end, type])).toEqual([
      [0, 9, 'image/png'],
      [500, 599, 'image/png'],
      [bytes.length - 50, bytes.length - 1, 'image/png'],
    ])
    for (const { start, end, bytes: part } of parts)
      expect(part.equals(bytes.subarray(start, end + 1))).toBe(true)
  })
})

interface Part extends ByteRange {
  readonly type: string
  readonly bytes: Buffer
}

/** The parts of an answer with one or several ranges. */
function partsOf({ headers, body }: Got): Part[] {
  const { 'content-type': type = '', 'content-range': only } = headers
  if (only !== undefined) return [{ ...rangeOf(only), type, bytes: body }]
  const boundary = /^multipart\/byteranges; boundary=(\S+)$/.exec(type)?.[1]
  if (boundary === undefined) throw new Error(`no boundary in ${type}`)
  const text = body.toString('latin1')
  const [preamble, ...parts] = text.split(`\r\n--${boundary}`)
  expect([preamble, parts.pop()]).toEqual(['', '--\r\n'])
  return parts.map((part) => {
    const at = part.indexOf('\r\n\r\n')
    const head = new Map(
      part
        .slice(2, at)
        .split('\r\n')
        .map((line): [string, string] => line.split(': ', 2) as [string, string]),
    )
    const bytes = Buffer.from(part.slice(at + 4), 'latin1')
    return { ...rangeOf(head.get('content-range')), type: head.get('content-type') ?? '', bytes }
  })
}

function rangeOf(text = ''): ByteRange {
  const [, start = '', end = ''] = /^bytes (\d+)-(\d+)\/\d+$/.exec(text) ?? []
  return { start: Number(start), end: Number(end) }
}

describe('a file on its way', () => {
  /** A file of any size that never ends by itself, and what was read of it. */
  function endless(size: number) {
    const state = { given: 0 }
    const chunk = Buffer.alloc(65_536)
    const body = new Readable({
      read() {
        state.given += chunk.length
        this.push(chunk)
      },
    })
    const content = contentOf(Buffer.alloc(0), { size, open: async () => body })
    return { content, body, state }
  }

  async function open(name: string, more = '') {
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(`GET /test/file?name=${name}&${userInQuery} HTTP/1.1\r\nhost: x\r\n${more}\r\n`)
    await once(socket, 'data')
    socket.pause()
    return socket
  }

  it('is read no faster than the client reads it, and not at all once the client is gone', async () => {
    const { content, body, state } = endless(10_000_000_000)
    server.files.set('endless', content)
    const socket = await open('endless')
    // What the kernel keeps for a client that does not read has an end.
    const isTooMuch = () => state.given >= 64 * 1_048_576
    let before = -1
    const isSteady = () => {
      const isSame = before === state.given && server.edge.connections.unreadBytes > 0
      before = state.given
      return isSame || isTooMuch()
    }
    await waitFor(isSteady, { what: 'nothing more that is read', timeoutMs: 20_000, everyMs: 100 })
    expect(isTooMuch()).toBe(false)
    expect(server.edge.connections.unreadBytes).toBeLessThanOrEqual(4 * 65_536)
    const closed = new Promise((resolve) => body.once('close', resolve))
    socket.destroy()
    await closed
    await waitFor(() => server.edge.connections.unreadBytes === 0, {
      what: 'nothing unread',
      timeoutMs: 20_000,
    })
    expect([body.destroyed, server.errors]).toEqual([true, []])
  })

  it('counts as held, so that clients that do not read cannot have the service hold more than it may', async () => {
    await using own = await startFileServer({ settings: { HERMOD_UNREAD_BYTES: '1048576' } })
    const { port } = own
    const sockets = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        own.files.set(`${index}`, endless(10_000_000_000).content)
        const socket = connect(port, '127.0.0.1')
        socket.on('error', () => {})
        socket.write(`GET /test/file?name=${index}&${userInQuery} HTTP/1.1\r\nhost: x\r\n\r\n`)
        await once(socket, 'data')
        socket.pause()
        return socket
      }),
    )
    await waitFor(() => own.sockets.size < 12, { what: 'closed connections', timeoutMs: 20_000 })
    expect(own.edge.connections.unreadBytes).toBeLessThanOrEqual(1.25 * 1_048_576)
    for (const socket of sockets) socket.destroy()
  })

  it('that cannot be read to its end is cut off, not ended, and reported', async () => {
    const failure = new Error('disk failed')
    const breaks = async () =>
      Readable.from(
        (async function* () {
          yield large.subarray(0, 100_000)
          throw failure
        })(),
      )
    server.files.set('breaks', contentOf(large, { open: breaks }))
    for (const headers of [{}, { range: 'bytes=0-500000' }, { range: 'bytes=0-1,5-6,100-900000' }])
      await expect(get('breaks', headers)).rejects.toThrow()
    expect(server.errors).toEqual([failure, failure, failure])
  })

  it.each([99_999, 1_000_001])('that has %i bytes instead of 100,000 is cut off', async (size) => {
    const other = async () => Readable.from([Buffer.alloc(size)], { objectMode: false })
    server.files.set('other', contentOf(large.subarray(0, 100_000), { open: other }))
    await expect(get('other')).rejects.toThrow()
    expect(server.errors).toMatchObject([{ message: 'a file of 100000 bytes has others' }])
  })

  it('is waited for when the service stops', async () => {
    await using own = await startFileServer()
    const { content, body } = endless(10_000_000_000)
    own.files.set('endless', content)
    const socket = connect(own.port, '127.0.0.1')
    socket.write(`GET /test/file?name=endless&${userInQuery} HTTP/1.1\r\nhost: x\r\n\r\n`)
    await once(socket, 'data')
    let isDrained = false
    const drained = own.executor.drain().then(() => {
      isDrained = true
    })
    await new Promise((resolve) => setImmediate(resolve))
    expect([isDrained, body.destroyed]).toEqual([false, false])
    socket.destroy()
    await drained
  })

  it('leaves the connection to the next request', async () => {
    const socket = connect(server.port, '127.0.0.1')
    const ask = (name: string, more = '') =>
      `GET /test/file?name=${name}&${userInQuery} HTTP/1.1\r\nhost: x\r\n${more}\r\n`
    socket.write(
      ask('large') + ask('small') + ask('large', 'range: bytes=0-4\r\nconnection: close\r\n'),
    )
    const all = Buffer.concat(await socket.toArray())
    expect(all.includes(large)).toBe(true)
    expect(all.includes(small)).toBe(true)
    expect(all.subarray(-5).equals(large.subarray(0, 5))).toBe(true)
    expect(server.errors).toEqual([])
  })
})
