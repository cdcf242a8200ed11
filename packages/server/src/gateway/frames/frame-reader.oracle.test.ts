/** The reader of frames against the one of the library `ws`, which reads the same bytes. */
import { createHash } from 'node:crypto'
import { isFullRun } from '@hermod/testkit'
import fc from 'fast-check'
import * as ws from 'ws'
import { describe, expect, it } from 'vitest'
import { maxFragments, maxFrameBytes } from '../limits.js'
import { FrameReader } from './frame-reader.js'

const [continuation, text, binary, close, ping, pong] = [0x0, 0x1, 0x2, 0x8, 0x9, 0xa]

interface Frame {
  readonly opcode: number
  readonly payload: Buffer
  readonly isFinal: boolean
  readonly reserved?: number
  readonly isMasked?: boolean
  /** The bytes of the length: 1, 2 or 8; the shortest that can hold it by default. */
  readonly lengthBytes?: number
  /** The announced length instead of that of the payload. */
  readonly announced?: bigint
}

const mask = Buffer.from([0x00, 0x5a, 0xff, 0x81])

function bytesOf({ opcode, payload, isFinal, reserved = 0, isMasked = true, ...more }: Frame) {
  const length = more.announced ?? BigInt(payload.length)
  const shortest = length < 126n ? 1 : length < 65_536n ? 2 : 8
  const lengthBytes = Math.max(shortest, more.lengthBytes ?? 1)
  const short = lengthBytes === 1 ? Number(length) : lengthBytes === 2 ? 126 : 127
  const head = Buffer.alloc(lengthBytes === 1 ? 2 : 2 + lengthBytes)
  head[0] = (isFinal ? 0x80 : 0) | (reserved << 4) | opcode
  head[1] = (isMasked ? 0x80 : 0) | short
  if (lengthBytes === 2) head.writeUInt16BE(Number(length), 2)
  if (lengthBytes === 8) head.writeBigUInt64BE(length, 2)
  const bytes = Buffer.concat([head, mask, payload])
  for (let at = 0, start = head.length + 4; at < payload.length; at++)
    bytes[start + at] = (payload[at] as number) ^ (mask[at & 3] as number)
  return bytes
}

/** The reports of a reader, in their order, until it reads nothing more. */
type Seen = string[]

function described(bytes: Buffer): string {
  return bytes.length < 1_000
    ? bytes.toString('latin1')
    : `${bytes.length} bytes ${createHash('sha1').update(bytes).digest('hex')}`
}

function seenByReader(reads: readonly Buffer[]): Seen {
  const seen: Seen = []
  const reader = new FrameReader({
    received: (message, isBinary) => seen.push(`${isBinary} ${described(message)}`),
    pinged: (payload) => seen.push(`ping ${described(payload)}`),
    receivedIdle: () => seen.push('pong'),
    concluded: (code) => seen.push(`close ${code}`),
    violated: (code) => seen.push(`violation ${code}`),
  })
  for (const read of reads) reader.add(Buffer.from(read))
  return seen
}

/** The part of the library's reader that the types of the library leave out. */
interface LibraryReader extends NodeJS.EventEmitter {
  _write(chunk: Buffer, encoding: string, done: (error?: object | null) => void): void
}

const { Receiver } = ws as unknown as { Receiver: new (options: object) => LibraryReader }

function seenByLibrary(reads: readonly Buffer[]): Seen {
  const seen: Seen = []
  const receiver = new Receiver({ isServer: true, maxPayload: maxFrameBytes, maxFragments })
  receiver.on('message', (message: Buffer, isBinary: boolean) =>
    seen.push(`${isBinary} ${described(message)}`),
  )
  receiver.on('ping', (payload: Buffer) => seen.push(`ping ${described(payload)}`))
  receiver.on('pong', () => seen.push('pong'))
  receiver.on('conclude', (code: number) => seen.push(`close ${code}`))
  let isBroken = false
  for (const read of reads) {
    if (isBroken) break
    receiver._write(Buffer.from(read), 'buffer', (error) => {
      if (!error) return
      isBroken = true
      const [code] = Object.getOwnPropertySymbols(error)
      seen.push(`violation ${(error as Record<symbol, number>)[code as symbol]}`)
    })
  }
  return seen
}

/** Ends every header, and then breaks the protocol: both readers have decided about all before. */
const end = Buffer.alloc(18)

function cut(stream: Buffer, sizes: readonly number[]): Buffer[] {
  const reads: Buffer[] = []
  let at = 0
  for (let index = 0; at < stream.length; index++) {
    const size = sizes[index % sizes.length] ?? stream.length
    reads.push(stream.subarray(at, at + size))
    at += size
  }
  return reads
}

function streamOf(frames: readonly Frame[]): Buffer {
  return Buffer.concat([...frames.map(bytesOf), end])
}

function expectSame(stream: Buffer, sizes: readonly number[]): Seen {
  const reads = cut(stream, sizes)
  const seen = seenByReader(reads)
  expect(seen).toEqual(seenByLibrary(reads))
  return seen
}

const closePayload = (code: number, reason: Uint8Array) => {
  const payload = Buffer.alloc(2 + reason.length)
  payload.writeUInt16BE(code)
  payload.set(reason, 2)
  return payload
}

const bytes = fc.uint8Array({ maxLength: 12 }).map((each) => Buffer.from(each))
const words = fc.string({ unit: 'grapheme', maxLength: 40 }).map((each) => Buffer.from(each))
const longWords = fc.constantFrom(124, 125, 126, 127, 300).map((n) => Buffer.from('é'.repeat(n)))
const payload = fc.oneof(
  { arbitrary: words, weight: 6 },
  { arbitrary: longWords, weight: 1 },
  { arbitrary: bytes, weight: 1 },
)
const lengthBytes = fc.constantFrom(1, 1, 1, 2, 8)

const control = fc.record({
  opcode: fc.constantFrom(ping, pong),
  payload: payload.map((each) => each.subarray(0, 125)),
  isFinal: fc.constant(true),
})

/** A message in fragments, which may cut a character, and control frames between them. */
const message = fc
  .record({
    opcode: fc.constantFrom(text, text, binary),
    payload,
    cuts: fc.array(fc.nat(60), { maxLength: 3 }),
    between: fc.array(control, { maxLength: 3 }),
    lengthBytes,
  })
  .map(({ opcode, payload: whole, cuts, between, lengthBytes: form }): Frame[] => {
    const borders = [0, ...cuts.map((at) => Math.min(at, whole.length)), whole.length]
    borders.sort((a, b) => a - b)
    return borders.slice(1).flatMap((border, index) => [
      {
        opcode: index === 0 ? opcode : continuation,
        payload: whole.subarray(borders[index], border),
        isFinal: index === borders.length - 2,
        lengthBytes: form,
      },
      ...between.slice(index, index + 1),
    ])
  })

const closing = fc
  .oneof(
    fc.constantFrom(Buffer.alloc(0), Buffer.alloc(1)),
    fc
      .tuple(fc.constantFrom(999, 1000, 1003, 1004, 1005, 1006, 1007, 1014, 1015, 2999), words)
      .map(([code, reason]) => closePayload(code, reason.subarray(0, 123))),
    fc
      .tuple(fc.constantFrom(1001, 3000, 4999, 5000, 65_535), bytes)
      .map(([code, reason]) => closePayload(code, reason)),
  )
  .map((each): Frame[] => [{ opcode: close, payload: each, isFinal: true }])

/** What breaks a frame, or the order of frames. */
const mutation = fc.oneof(
  fc.record({ opcode: fc.nat(15) }),
  fc.record({ reserved: fc.integer({ min: 1, max: 7 }) }),
  fc.record({ isMasked: fc.constant(false) }),
  fc.record({ isFinal: fc.boolean() }),
  fc.record({ lengthBytes: fc.constantFrom(2, 8) }),
  fc.record({ payload: bytes }),
  fc.record({
    announced: fc.constantFrom(
      ...[0n, 1n, 125n, 126n, 70_000n, BigInt(maxFrameBytes), BigInt(maxFrameBytes) + 1n],
      ...[2n ** 32n, 2n ** 53n - 1n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n],
    ),
  }),
)

const stream = fc
  .record({
    parts: fc.array(
      fc.oneof(
        { arbitrary: message, weight: 6 },
        { arbitrary: control.map((each): Frame[] => [each]), weight: 2 },
        { arbitrary: closing, weight: 1 },
      ),
      { minLength: 1, maxLength: 5 },
    ),
    changes: fc.array(fc.record({ at: fc.nat(20), change: mutation }), { maxLength: 2 }),
  })
  .map(({ parts, changes }) => {
    const frames: Frame[] = parts.flat()
    for (const { at, change } of changes) {
      const index = at % frames.length
      frames[index] = { ...(frames[index] as Frame), ...change }
    }
    return frames
  })

const sizes = fc.oneof(
  fc.constant([1]),
  fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 9 }),
  fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 9 }),
  fc.constant([]),
)

describe('the reader of frames and that of the library ws', () => {
  it('report the same messages, pings, closes and violations of the same bytes', () => {
    const kinds = new Set<string>()
    fc.assert(
      fc.property(stream, sizes, (frames, reads) => {
        for (const each of expectSame(streamOf(frames), reads))
          kinds.add(each.replace(/^(true|false|ping|close) .*/s, '$1'))
      }),
      isFullRun ? { numRuns: 20_000 } : { numRuns: 150, seed: 20_260_101 },
    )
    // The streams have reached each of these.
    for (const kind of ['true', 'false', 'ping', 'pong', 'close']) expect(kinds).toContain(kind)
    for (const code of [1002, 1007, 1009]) expect(kinds).toContain(`violation ${code}`)
  })

  const fragments = (count: number, size: number): Frame[] =>
    Array.from({ length: count }, (_, index) => ({
      opcode: index === 0 ? binary : continuation,
      payload: Buffer.alloc(size),
      isFinal: index === count - 1,
    }))

  it.each([
    ['a frame of the most bytes', fragments(1, maxFrameBytes), 'true'],
    ['a frame of more', fragments(1, maxFrameBytes + 1), 'violation 1009'],
    ['fragments of the most bytes', fragments(2, maxFrameBytes / 2), 'true'],
    [
      'fragments of more',
      [...fragments(3, maxFrameBytes / 2).slice(0, 2), ...fragments(2, 1).slice(1)],
      'violation 1009',
    ],
    ['the most fragments', fragments(maxFragments, 1), 'true'],
    ['the most fragments, all empty', fragments(maxFragments, 0), 'true'],
    ['more fragments', fragments(maxFragments + 1, 1), 'violation 1008'],
  ])('report the same of %s', (_, frames, first) => {
    const all = streamOf(frames)
    for (const reads of [[], [3, 60_000]])
      expect(expectSame(all, reads)[0]?.slice(0, first.length)).toBe(first)
  })
})
