/** Frames after RFC 6455, as bytes, and the bad ones among them. */
import { anyBackend, type Backend, type Session } from '@hermod/testkit'
import { beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import {
  clientFrame,
  handshakeHeaders,
  opcodes,
  RawGateway,
} from '../support/gateway/raw-gateway.js'
import { ownServer } from '../support/in-process-server.js'

const { continuation, text, binary, close, ping, pong } = opcodes

const [backend] = anyBackend() as [Backend]
const server = ownServer(backend, { HERMOD_CORS_ORIGINS: 'https://app.example' })
let alice: Session

beforeAll(async () => {
  alice = await server.api.newSession()
})

const opened = () => RawGateway.opened(server.url, server.appId, alice)

/** The close code after some bytes on an open session. */
async function closeAfter(...bytes: readonly Buffer[]): Promise<number> {
  using raw = await opened()
  for (const each of bytes) raw.write(each)
  const code = await raw.closeCode()
  raw.frame(close)
  await raw.closed()
  return code
}

describe('the handshake', () => {
  /** The status, and the code of the envelope. */
  async function refusal(
    headers: Readonly<Record<string, string | undefined>>,
    requestLine?: string,
  ): Promise<[number, number]> {
    using raw = await RawGateway.connect(server.url)
    const answer = await raw.handshake(headers, requestLine)
    await raw.closed()
    const envelope = JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4))
    return [Number(answer.split(' ')[1]), envelope.code]
  }

  it('answers with the subprotocol and without extensions', async () => {
    using raw = await RawGateway.connect(server.url)
    const answer = await raw.handshake({
      'sec-websocket-protocol': 'other, hermod.v1.json',
      'sec-websocket-extensions': 'permessage-deflate',
      origin: 'https://app.example',
    })
    expect(answer).toMatch(/^HTTP\/1\.1 101 /)
    expect(answer).toContain('Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
    expect(answer).toContain('Sec-WebSocket-Protocol: hermod.v1.json')
    expect(answer).not.toContain('Extensions')
  })

  it('refuses another path, origin, method, version, key and subprotocol', async () => {
    expect(await refusal({}, 'GET /elsewhere HTTP/1.1')).toEqual([404, answerCode.path_not_found])
    expect(await refusal({}, 'GET /message/send HTTP/1.1')).toEqual([
      404,
      answerCode.path_not_found,
    ])
    expect(await refusal({ origin: 'https://evil.example' })).toEqual([
      403,
      answerCode.origin_refused,
    ])
    expect(await refusal({ 'content-length': '0' }, 'POST /gateway HTTP/1.1')).toEqual([
      405,
      answerCode.method_not_accepted,
    ])
    const malformed = [400, answerCode.malformed_request]
    expect(await refusal({ 'sec-websocket-version': '8' })).toEqual(malformed)
    expect(await refusal({ 'sec-websocket-version': undefined })).toEqual(malformed)
    expect(await refusal({ 'sec-websocket-key': 'short' })).toEqual(malformed)
    expect(await refusal({ 'sec-websocket-protocol': undefined })).toEqual(malformed)
    expect(await refusal({ 'sec-websocket-protocol': 'hermod.v2.json' })).toEqual(malformed)
  })

  it('a request without an upgrade gets 426', async () => {
    const { status, code, headers } = await server.api.call('GET', '/gateway')
    expect([status, code]).toEqual([426, answerCode.upgrade_required])
    expect(headers.upgrade).toBe('websocket')
    expect((await server.api.call('POST', '/gateway')).status).toBe(405)
  })

  it('a request that offers HTTP/2 is an ordinary request', async () => {
    using raw = await RawGateway.connect(server.url)
    const answer = await raw.handshake(
      {
        upgrade: 'h2c',
        connection: 'Upgrade, HTTP2-Settings',
        'http2-settings': 'AAMAAABkAARAAAAA',
      },
      'GET /healthz HTTP/1.1',
    )
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
    expect(await raw.handshake({}, 'GET /gateway HTTP/1.1')).toMatch(/^HTTP\/1\.1 101 /)
  })

  it('an upgrade behind an unanswered request ends the connection', async () => {
    using raw = await RawGateway.connect(server.url)
    raw.write('GET /readyz HTTP/1.1\r\nhost: hermod\r\n\r\n')
    raw.handshake().catch(() => {})
    await raw.closed()
  })

  it('a frame that comes with the request is read', async () => {
    using raw = await RawGateway.connect(server.url)
    const lines = Object.entries(handshakeHeaders).map(([name, value]) => `${name}: ${value}`)
    const data = { app_id: server.appId, access_token: alice.token }
    const open = clientFrame(text, JSON.stringify({ id: 1, op: 'session.open', data }))
    raw.write(
      Buffer.concat([Buffer.from(`GET /gateway HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`), open]),
    )
    await raw.head()
    expect(await raw.answer()).toMatchObject({ id: 1, code: 200 })
  })
})

describe('frames of clients', () => {
  it('of every form of length are read', async () => {
    using raw = await opened()
    for (const length of [125, 126, 127, 65_535, 65_536, 65_537]) {
      const frame = JSON.stringify({ id: length, op: 'message.send', data: {} })
      raw.frame(text, frame.padEnd(length))
      expect((await raw.answer()).id).toBe(length)
    }
  })

  it('of one byte at a time are read', async () => {
    using raw = await opened()
    for (const byte of clientFrame(text, '{"id":1,"op":"user.device.list"}'))
      raw.write(Buffer.from([byte]))
    expect(await raw.answer()).toMatchObject({ id: 1, code: 200 })
  })

  /** Writes bytes in parts that the server reads one by one. */
  async function writeParts(raw: RawGateway, bytes: Buffer, length: number): Promise<void> {
    for (let at = 0; at < bytes.length && !raw.isClosed; at += length) {
      raw.write(bytes.subarray(at, at + length))
      for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate)
    }
  }

  it('of 1 MiB in reads of 1,400 bytes are read', async () => {
    using raw = await opened()
    const data = { user_ids: [], unknown: 'x'.repeat(1_040_000) }
    const frame = JSON.stringify({ id: 1, op: 'user.profile.batch', data })
    await writeParts(raw, clientFrame(text, frame), 1_400)
    expect((await raw.answer()).id).toBe(1)
  })

  it('of more than 64 reads of less than 256 bytes on average end with 4004', async () => {
    using inReads = await opened()
    const frame = clientFrame(text, '{'.padEnd(400))
    await writeParts(inReads, frame, 1)
    expect(await inReads.closeCode()).toBe(4004)
    using unopened = await RawGateway.upgraded(server.url)
    await writeParts(unopened, frame, 1)
    expect(await unopened.closeCode()).toBe(4004)
  })

  it('in fragments are read, with pings between them and UTF-8 over their borders', async () => {
    using raw = await opened()
    const bytes = Buffer.from('{"id":"\u00e9\u{1f600}","op":"user.device.list"}')
    raw.frame(text, bytes.subarray(0, 8), { fin: false })
    raw.frame(ping, 'between')
    raw.frame(continuation, bytes.subarray(8, 11), { fin: false })
    raw.frame(continuation, '', { fin: false })
    raw.frame(continuation, bytes.subarray(11))
    const { opcode, payload } = await raw.next()
    expect([opcode, payload.toString()]).toEqual([pong, 'between'])
    expect(await raw.answer()).toMatchObject({ id: '\u00e9\u{1f600}', code: 200 })
  })

  it('with reserved bits, reserved opcodes or without a mask end with 1002', async () => {
    const frame = '{}'
    for (const rsv of [1, 2, 4])
      expect(await closeAfter(clientFrame(text, frame, { rsv }))).toBe(1002)
    for (const opcode of [3, 7, 11, 15])
      expect(await closeAfter(clientFrame(opcode, frame))).toBe(1002)
    expect(await closeAfter(clientFrame(text, frame, { isMasked: false }))).toBe(1002)
  })

  it('in a wrong order of fragments end with 1002', async () => {
    expect(await closeAfter(clientFrame(continuation, '{}'))).toBe(1002)
    const first = clientFrame(text, '{', { fin: false })
    expect(await closeAfter(first, clientFrame(text, '}'))).toBe(1002)
  })

  it('of control end with 1002 when they are too long or in fragments', async () => {
    expect(await closeAfter(clientFrame(ping, 'x'.repeat(126)))).toBe(1002)
    expect(await closeAfter(clientFrame(ping, '', { fin: false }))).toBe(1002)
    expect(await closeAfter(clientFrame(close, 'x'))).toBe(1002)
    for (const code of [999, 1005, 1006, 1015, 5000]) {
      const payload = Buffer.alloc(2)
      payload.writeUInt16BE(code)
      expect([code, await closeAfter(clientFrame(close, payload))]).toEqual([code, 1002])
    }
  })

  it('that are no UTF-8 end with 1007', async () => {
    const overlong = Buffer.from([0x22, 0xc0, 0xaf, 0x22])
    expect(await closeAfter(clientFrame(text, overlong))).toBe(1007)
    const cut = Buffer.from([0x22, 0xe2, 0x82])
    expect(await closeAfter(clientFrame(text, cut))).toBe(1007)
  })

  it('that announce too many bytes end with 1009, before the bytes come', async () => {
    for (const length of [1_052_673, 2n ** 40n, 2n ** 62n])
      expect(await closeAfter(clientFrame(text, '', { length }))).toBe(1009)
    const half = 'x'.repeat(600_000)
    const fragment = clientFrame(text, half, { fin: false })
    expect(await closeAfter(fragment, clientFrame(continuation, half))).toBe(1009)
  })

  it('of a close are answered with its code', async () => {
    for (const code of [1000, 1001, 3000, 4000]) {
      const payload = Buffer.alloc(2)
      payload.writeUInt16BE(code)
      expect(await closeAfter(clientFrame(close, payload))).toBe(code)
    }
    expect(await closeAfter(clientFrame(close, ''))).toBe(1005)
  })

  it('that hold no JSON object end with 4507', async () => {
    const frames = ['', 'x', '[]', '7', '"text"', 'null', '['.repeat(65), '{', '{x}', '{} {}']
    for (const frame of [...frames, '{"id":x}', '{"id":1,"op":"user.device.list"'])
      expect([frame, await closeAfter(clientFrame(text, frame))]).toEqual([frame, 4507])
    expect(await closeAfter(clientFrame(binary, '{}'))).toBe(4507)
  })

  it('without a call are not parsed above 4 KiB, which would have to be paid first', async () => {
    using raw = await opened()
    raw.frame(text, `{"x":${'x'.repeat(5_000)}}`)
    raw.call(2, list)
    expect(await raw.answer()).toMatchObject({ id: 2, code: 200 })
  })

  const list = 'user.device.list'
  const deep = `${'['.repeat(64)}${']'.repeat(64)}`
  const digits = '1'.repeat(65)
  const tooDeep = 'the frame must be nested at most 64 levels deep'
  const tooLong = 'the frame must have numbers of at most 64 characters'
  const tooMany = `the frame must have at most ${20_000} members and entries`
  const badId = 'id must be an integer or a text of at most 64 characters'
  it.each([
    ['that are too deep', `{"id":1,"op":"${list}","data":${deep}}`, 1, tooDeep],
    [
      'with a number of 65 digits',
      `{"data":{"x":${digits}},"id":"a","op":"${list}"}`,
      'a',
      tooLong,
    ],
    [
      'with more than 20,000 members',
      `{"id":1,"op":"message.send","data":{"x":[${'0,'.repeat(20_000)}0]}}`,
      1,
      tooMany,
    ],
    ['with a user_id of 65 digits', `{"id":1,"op":"${list}","user_id":${digits}}`, 1, tooLong],
    [
      'whose data is no JSON',
      `{"id":1,"op":"${list}","data":{x}}`,
      1,
      'the frame must be valid JSON',
    ],
    ['without an id that are too deep', `{"x":${deep}}`, null, tooDeep],
    ['with an id of 65 characters', `{"id":"${'x'.repeat(65)}","op":"${list}"}`, null, badId],
    ['with an id of 1,000 characters', `{"id":"${'x'.repeat(1_000)}","op":"${list}"}`, null, badId],
    ['with an id of 65 digits', `{"id":${digits},"op":"${list}"}`, null, tooLong],
    ['with an id that is a fraction', `{"id":1.5,"op":"${list}"}`, null, badId],
    ['with an id that is an object', `{"id":{},"op":"${list}"}`, null, badId],
    ['with a call and no id', `{"op":"${list}"}`, null, badId],
  ])('%s are answered as invalid_parameter', async (_, frame, id, violation) => {
    using raw = await opened()
    raw.frame(text, frame)
    expect(await raw.answer()).toMatchObject({
      id,
      code: answerCode.invalid_parameter,
      message: `invalid request parameter: ${violation}`,
    })
    raw.call(2, list)
    expect(await raw.answer()).toMatchObject({ id: 2, code: 200 })
  })

  it('with escaped names and a name twice are read as JSON', async () => {
    using raw = await opened()
    raw.frame(
      text,
      `{"x":{"id":9,"op":"}"},"id":1,"\\u0069d":"a\\"b", "data" : {"id":8} ,"op":"none","op": "${list}" } `,
    )
    expect(await raw.answer()).toMatchObject({ id: 'a"b', code: 200 })
  })

  it('of the longest operation are read, and a body beyond its limit is answered', async () => {
    using raw = await opened()
    const unknown = 'x'.repeat(20_000)
    raw.call(1, 'user.device.list', { unknown })
    expect(await raw.answer()).toMatchObject({ id: 1, code: answerCode.body_too_large })
    raw.call(2, 'user.profile.batch', { user_ids: [], unknown: 'x'.repeat(1_000_000) })
    expect((await raw.answer()).id).toBe(2)
  })

  it('that are empty objects are ignored, and so are unknown members', async () => {
    using raw = await opened()
    raw.frame(text, '{}')
    raw.frame(text, '{"pos":"x","later":[1]}')
    raw.call(1, 'user.device.list')
    expect(await raw.answer()).toMatchObject({ id: 1, code: 200 })
  })

  it('of more than 16 KiB before session.open has succeeded end with 4507', async () => {
    using raw = await RawGateway.upgraded(server.url)
    const data = { app_id: server.appId, access_token: alice.token, sdk: 'x'.repeat(17_000) }
    raw.call(1, 'session.open', data)
    expect(await raw.closeCode()).toBe(4507)
  })
})
