/** How uploaded forms are read on HTTP: order and bounds of their parts, names, broken and slow forms. */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { Readable } from 'node:stream'
import { AppError } from '@hermod/protocol'
import { waitFor } from '@hermod/testkit'
import fc from 'fast-check'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  envelopeOf,
  type FileServer,
  maxUploadBytes,
  send,
  startFileServer,
  user,
  userInQuery,
} from '../support/files/file-server.js'

let server: FileServer
const {
  upload_form_invalid: invalid,
  file_missing: missing,
  file_name_invalid: nameInvalid,
} = answerCode
const boundary = 'a-boundary'
const formType = { ...user, 'content-type': `multipart/form-data; boundary=${boundary}` }
const large = randomBytes(2_500_000)
const patience = { what: 'the server', timeoutMs: 20_000 }

beforeAll(async () => {
  server = await startFileServer()
})

afterAll(() => server[Symbol.asyncDispose]())

beforeEach(() => {
  const { seen, received, broken, errors, codes } = server
  for (const list of [seen, received, broken, errors, codes]) list.length = 0
})

const part = (head: string, content: string | Buffer = '') =>
  Buffer.concat([
    Buffer.from(`--${boundary}\r\n${head}\r\n\r\n`),
    Buffer.from(content),
    Buffer.from('\r\n'),
  ])
const field = (name: string, value: string) =>
  part(`Content-Disposition: form-data; name="${name}"`, value)
const file = (content: string | Buffer, name = '; filename="a.png"', field = 'file') =>
  part(`Content-Disposition: form-data; name="${field}"${name}\r\nContent-Type: image/png`, content)
const end = Buffer.from(`--${boundary}--\r\n`)
const form = (...parts: Buffer[]) => Buffer.concat([...parts, end])
const url = (name = 'one') => `${server.url}/test/upload?name=${name}`

const upload = async (
  body: Buffer | Readable,
  headers: Record<string, string> = formType,
  name = 'one',
) => envelopeOf(await send(url(name), 'POST', headers, body))

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('an upload', () => {
  it('has its fields, its name, its type and its bytes', async () => {
    const body = form(field('key', 'a/b'), field('policy', 'é'), file(large))
    for (const sent of [body, Readable.from([body])]) {
      expect(await upload(sent)).toMatchObject({ code: 200, data: large.length })
    }
    const expected = {
      fields: { key: 'a/b', policy: 'é' },
      fileName: 'a.png',
      contentType: 'image/png',
      size: large.length,
      sha256: sha256(large),
    }
    expect(server.received).toEqual([expected, expected])
    expect([server.errors, server.codes]).toEqual([[], [200, 200]])
  })

  it('may be what FormData makes of it', async () => {
    const data = new FormData()
    data.set('key', 'a\nb')
    data.set('file', new Blob([large], { type: 'image/webp' }), '图 "片".webp')
    const answer = await fetch(url(), { method: 'POST', headers: user, body: data })
    expect(await answer.json()).toMatchObject({ code: 200, data: large.length })
    expect(server.received).toMatchObject([
      { fields: { key: 'a\r\nb' }, fileName: '图 "片".webp', sha256: sha256(large) },
    ])
  })

  it.each([
    ['a single byte', Buffer.from('x')],
    ['nothing', Buffer.alloc(0)],
    ['line ends', Buffer.from('\r\n\r\n')],
    ['what begins as a boundary', Buffer.from(`\r\n--${boundary.slice(0, -1)}\r\n--`)],
  ])('may have %s in it', async (_, bytes) => {
    expect(await upload(form(file(bytes)))).toMatchObject({ code: 200, data: bytes.length })
    expect(server.received).toMatchObject([{ sha256: sha256(bytes) }])
  })

  it('is the same however it is cut into pieces', async () => {
    const bytes = Buffer.concat([randomBytes(300), Buffer.from(`\r\n--${boundary.slice(0, 5)}`)])
    const body = form(field('a', '1'), field('b', '2'.repeat(100)), file(bytes))
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(body.length), { maxLength: 12 }), async (cuts) => {
        const at = [0, ...cuts.sort((a, b) => a - b), body.length]
        const pieces = at.slice(1).map((to, index) => body.subarray(at[index], to))
        server.received.length = 0
        const socket = await openUpload(body.length)
        for (const piece of pieces.filter(({ length }) => length > 0)) {
          socket.write(piece)
          await new Promise((resolve) => setImmediate(resolve))
        }
        expect(await answerOn(socket)).toContain(`"data":${bytes.length}`)
        expect(server.received).toMatchObject([
          { fields: { a: '1', b: '2'.repeat(100) }, fileName: 'a.png', sha256: sha256(bytes) },
        ])
      }),
      { numRuns: 30 },
    )
  })

  it('may have text before and after the form', async () => {
    const body = Buffer.concat([Buffer.from('before\r\n'), form(file('abc')), Buffer.from('after')])
    expect(await upload(body)).toMatchObject({ code: 200, data: 3 })
  })

  it('may be left unread', async () => {
    const answer = await upload(form(file(large)), formType, 'unread')
    expect(answer).toMatchObject({ code: 200, data: 0 })
  })

  it('of a caller that is refused is not handed to anybody', async () => {
    const { 'content-type': type } = formType
    const anonymous = await upload(form(file(large)), { app_id: 'home', 'content-type': type })
    expect(anonymous).toMatchObject({ code: answerCode.token_missing })
    const nameless = await send(`${server.url}/test/upload`, 'POST', formType, form(file(large)))
    expect(envelopeOf(nameless)).toMatchObject({ code: answerCode.invalid_parameter })
    expect(server.seen).toEqual([])
  })
})

describe('a form', () => {
  const fields = (count: number) =>
    Array.from({ length: count }, (_, index) => field(`f${index}`, 'x'))

  it.each([
    ['without a file', () => form(field('a', '1')), missing],
    ['without anything', () => end, missing],
    ['with the file under another name', () => form(file('abc', undefined, 'picture')), missing],
    ['with two files', () => form(file('abc'), file('def')), invalid],
    ['with another file after it', () => form(file('a'), file('b', undefined, 'c')), invalid],
    ['with a field after the file', () => form(file('abc'), field('a', '1')), invalid],
    ['with a field without a name', () => form(part('Content-Disposition: form-data')), invalid],
    ['with 33 fields', () => form(...fields(33), file('abc')), invalid],
    ['with a thousand parts', () => form(...Array(1000).fill(part('x: y')), file('a')), invalid],
    ['with a long field', () => form(field('a', 'x'.repeat(16_385)), file('abc')), invalid],
    ['without an end', () => file('abc'), invalid],
    ['that ends in the middle of the file', () => file(large).subarray(0, 1_000_000), invalid],
    ['that ends in a head', () => Buffer.from(`--${boundary}\r\nContent-Disp`), invalid],
    ['that ends before its first part', () => Buffer.from('--a-bound'), invalid],
    ['with another boundary', () => Buffer.from('--other\r\n\r\nabc\r\n--other--\r\n'), invalid],
    ['of nothing', () => Buffer.alloc(0), invalid],
  ])('%s is refused', async (_, body, code) => {
    for (const sent of [body(), Readable.from([body()])])
      expect(await upload(sent)).toMatchObject({ code, data: null })
    expect([server.received, server.errors]).toEqual([[], []])
    expect(await upload(form(...fields(32), file('abc')))).toMatchObject({ code: 200, data: 3 })
  })

  it.each([
    undefined,
    '',
    'application/json',
    'application/octet-stream',
    'application/x-www-form-urlencoded',
    'multipart/form-data',
    'multipart/form-data; charset=utf-8',
    `multipart/mixed; boundary=${boundary}`,
    `multipart/form-data; boundary=${'b'.repeat(1000)}`,
  ])('of the type %s is none', async (type) => {
    const headers = type === undefined ? user : { ...user, 'content-type': type }
    const answer = await upload(form(file(large)), headers)
    expect(answer).toMatchObject({ code: invalid, message: expect.stringContaining('form-data') })
  })

  it('may quote its boundary', async () => {
    const headers = { ...user, 'content-type': `Multipart/Form-Data;Boundary="${boundary}"` }
    expect(await upload(form(file('abc')), headers)).toMatchObject({ code: 200, data: 3 })
  })

  it('that is announced as larger than its limit is a real 413 before anybody is asked', async () => {
    const got = await send(url(), 'POST', formType, Buffer.alloc(maxUploadBytes + 1))
    expect([got.status, envelopeOf(got).code, server.seen]).toEqual([
      413,
      answerCode.body_too_large,
      [],
    ])
  })

  it('that grows beyond its limit is a real 413, which a client that goes on to send can read', async () => {
    const head = file('').subarray(0, -2)
    const body = Readable.from([head, large, large, large])
    const got = await send(url(), 'POST', formType, body)
    expect([got.status, envelopeOf(got).code]).toEqual([413, answerCode.body_too_large])
    expect([server.errors, server.received, server.broken.length]).toEqual([[], [], 1])
  })
})

describe('the name of a file', () => {
  const nameOf = async (disposition: string | Buffer) => {
    const head = Buffer.concat([
      Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="file"`),
      Buffer.from(disposition),
      Buffer.from('\r\n\r\nabc\r\n'),
    ])
    server.received.length = 0
    const { code } = await upload(form(head))
    return code === 200 ? server.received[0]?.fileName : code
  }

  it.each([
    ['', null],
    ['; filename=""', null],
    ['; filename="a.png"', 'a.png'],
    ['; filename=a.png', 'a.png'],
    ['; filename="图片.png"', '图片.png'],
    [`; filename*=UTF-8''%E5%9B%BE.png`, '图.png'],
    [`; filename*=iso-8859-1''na%EFve.png`, 'naïve.png'],
    ['; filename="a \\"b\\".png"', 'a "b".png'],
    ['; filename="a%22b%20c%.png"', 'a"b%20c%.png'],
    ['; filename="a;b=c.png"', 'a;b=c.png'],
    ['; filename="👩‍👩‍👧.png"', '👩‍👩‍👧.png'],
    ['; filename="/etc/passwd"', 'passwd'],
    ['; filename="../../../a.png"', 'a.png'],
    ['; filename="C:\\\\fakepath\\\\a.png"', 'a.png'],
    [`; filename*=UTF-8''..%2f..%2fa.png`, 'a.png'],
    ['; filename=".."', null],
    ['; filename="a/.."', null],
    [`; filename="${'n'.repeat(255)}"`, 'n'.repeat(255)],
    [`; filename="${'n'.repeat(256)}"`, nameInvalid],
    [`; filename="${'n'.repeat(300)}"`, nameInvalid],
    [`; filename="dir/${'图'.repeat(255)}"`, '图'.repeat(255)],
    ['; filename="a\0b.png"', nameInvalid],
    ['; filename="a\x07b.png"', nameInvalid],
    ['; filename="a\x7fb.png"', nameInvalid],
    [`; filename*=UTF-8''a%0D%0Ab.png`, missing],
    [`; filename*=UTF-8''a%00b.png`, nameInvalid],
    ['; filename="a\u202egnp.exe"', nameInvalid],
    [Buffer.from('; filename="a\xff\xfe.png"', 'latin1'), nameInvalid],
    [`; filename*=UTF-8''a%FF.png`, nameInvalid],
  ])('%j is %j', async (disposition, expected) => {
    expect(await nameOf(disposition)).toBe(expected)
  })
})

describe('an upload on its way', () => {
  it('whose client goes away in the middle fails, and is no failure of the service', async () => {
    const socket = await openUpload(1_000_000)
    socket.write(file('abc'.repeat(100)).subarray(0, -2))
    await waitFor(() => server.seen.length === 1, patience)
    socket.destroy()
    await waitFor(() => server.broken.length === 1, patience)
    expect(server.broken).toMatchObject([{ name: 'AppError' }])
    expect(server.received).toEqual([])
    await waitFor(() => server.codes.length === 1, patience)
    expect(server.errors).toEqual([])
  })

  it('may fail before the handler has begun to read it', async () => {
    let goOn: (value: unknown) => void = () => {}
    const waits = new Promise((resolve) => {
      goOn = resolve
    })
    await using own = await startFileServer()
    const { take } = own
    own.take = async (read) => {
      await waits
      return take(read)
    }
    const twoFiles = form(file('abc'), file('def'))
    const answer = send(`${own.url}/test/upload?name=one`, 'POST', formType, twoFiles)
    await waitFor(() => own.seen.length === 1, patience)
    await new Promise((resolve) => setImmediate(resolve))
    goOn(null)
    expect(envelopeOf(await answer).code).toBe(answerCode.upload_form_invalid)
    expect(own.errors).toEqual([])
  })

  it('is read no faster than the handler reads it', async () => {
    await using own = await startFileServer()
    let goOn: (value: unknown) => void = () => {}
    const waits = new Promise((resolve) => {
      goOn = resolve
    })
    const { take } = own
    own.take = async (read) => {
      await waits
      return take(read)
    }
    const socket = connect(own.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      `POST /test/upload?name=one&${userInQuery} HTTP/1.1\r\nhost: x\r\n${headLines}content-length: ${maxUploadBytes}\r\n\r\n`,
    )
    socket.write(file(large).subarray(0, -2))
    await waitFor(() => own.seen.length === 1, patience)
    const [serverSide] = own.sockets as Set<Socket>
    const before = await steady(() => serverSide?.bytesRead ?? 0)
    expect(before).toBeLessThan(1_000_000)
    goOn(null)
    await waitFor(() => (serverSide?.bytesRead ?? 0) > large.length, patience)
    socket.destroy()
  })

  it('counts as a body in memory: while too many wait for the store, the slowest get 503', async () => {
    const most = 1_048_576
    await using own = await startFileServer({ settings: { HERMOD_BODY_BYTES: String(most) } })
    let goOn: (value: unknown) => void = () => {}
    const waits = new Promise((resolve) => {
      goOn = resolve
    })
    const { take } = own
    own.take = async (read) => {
      await waits
      return take(read)
    }
    const body = form(field('a', 'x'.repeat(16_000)), file(large.subarray(0, 400_000)))
    const answers = Promise.all(
      Array.from({ length: 20 }, () =>
        send(`${own.url}/test/upload?name=one`, 'POST', formType, body),
      ),
    )
    await waitFor(() => own.seen.length === 20, patience)
    const held = await steady(() => own.edge.bodies.bytes)
    expect(held).toBeGreaterThan(most / 2)
    expect(held).toBeLessThanOrEqual(most)
    goOn(null)
    const codes = (await answers).map((answer) => envelopeOf(answer).code)
    expect(new Set(codes)).toEqual(new Set([200, answerCode.unavailable]))
    expect(own.edge.bodies.bytes).toBe(0)
  })

  it.each([
    ['without a token', { ...formType, 'access-token': '' }, form(file(large)), 200],
    ['of another type', { ...formType, 'content-type': 'text/plain' }, form(file(large)), 200],
    ['with a name that is none', formType, form(file(large, '; filename="\x07"')), 200],
    ['with the file first', formType, form(file('a'), file(large)), 200],
    ['that is announced as too large', formType, Buffer.alloc(maxUploadBytes + 1), 413],
  ])(
    '%s is refused by an answer that a proxy can pass on: the connection closes after the body',
    async (_, headers, body, status) => {
      const got = await send(url(), 'POST', { ...headers, connection: 'close' }, body)
      expect([got.status, envelopeOf(got).data]).toEqual([status, null])
      expect(envelopeOf(got).code).not.toBe(200)
    },
  )

  it('that is refused in the middle is answered while the client goes on to send', async () => {
    await using own = await startFileServer()
    own.take = async ({ body }) => {
      for await (const _ of body) throw new AppError('file_too_large')
      throw new Error('nothing came')
    }
    const body = Readable.from([form(file(large))])
    const got = await send(`${own.url}/test/upload?name=one`, 'POST', formType, body)
    expect(envelopeOf(got).code).toBe(answerCode.file_too_large)
    expect(own.errors).toEqual([])
  })

  it('that is refused and never ends is closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const socket = await openUpload(1_000_000)
      const closed = once(socket, 'close')
      socket.write(form(file('a'), file('b')))
      const [answer] = await once(socket, 'data')
      expect(String(answer)).toContain(`"code":${answerCode.upload_form_invalid}`)
      await vi.advanceTimersByTimeAsync(29_000)
      expect(server.sockets.size).toBeGreaterThan(0)
      await vi.advanceTimersByTimeAsync(1_000)
      await closed
    } finally {
      vi.useRealTimers()
    }
  })

  it('may take longer than other requests as long as it makes progress', async () => {
    const bytes = form(file('abc'))
    const uploading = await openUpload(bytes.length)
    uploading.write(bytes.subarray(0, -10))
    await waitFor(() => server.seen.length === 1, patience)
    const slow = connect(server.port, '127.0.0.1')
    slow.write(`POST /test/plain HTTP/1.1\r\nhost: x\r\n${headLines}content-length: 6\r\n\r\nabc`)
    // Others may be left of the tests before.
    const isSlow = ({ remotePort }: Socket) =>
      remotePort !== undefined && remotePort === slow.localPort
    await waitFor(() => [...server.sockets].some(isSlow), patience)
    for (const socket of server.sockets) {
      const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
      server.server.emit('clientError', late, socket)
    }
    expect(await answerOn(slow)).toContain('HTTP/1.1 408')
    uploading.write(bytes.subarray(-10))
    expect(await answerOn(uploading)).toContain('"data":3')
  })
})

const headLines = `app_id: home\r\naccess-token: hmu_valid\r\ncontent-type: ${formType['content-type']}\r\n`

/** A connection on which the head of an upload has been sent. */
async function openUpload(length: number): Promise<Socket> {
  const socket = connect(server.port, '127.0.0.1')
  socket.setNoDelay(true)
  await once(socket, 'connect')
  socket.write(
    `POST /test/upload?name=one HTTP/1.1\r\nhost: x\r\n${headLines}content-length: ${length}\r\n\r\n`,
  )
  return socket
}

/** The first bytes of what the server answers; the connection is closed. */
async function answerOn(socket: Socket): Promise<string> {
  const [chunk] = await once(socket, 'data')
  socket.destroy()
  return (chunk as Buffer).toString()
}

/** What a number is when it changes no more. */
async function steady(read: () => number): Promise<number> {
  let before = -1
  await waitFor(
    () => {
      const isSteady = before === read()
      before = read()
      return isSteady
    },
    { ...patience, everyMs: 200 },
  )
  return before
}
