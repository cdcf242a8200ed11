import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type FrameEvents, FrameReader } from './frame-reader.js'

/** The bytes of a masked frame. @param form the bytes of its length */
function frame(opcode: number, length: number, { fin = true, form = 0 } = {}): Buffer {
  const size = form || (length < 126 ? 1 : length < 65_536 ? 2 : 8)
  const head = Buffer.alloc(2 + (size === 1 ? 0 : size))
  head[0] = (fin ? 0x80 : 0) | opcode
  head[1] = 0x80 | (size === 1 ? length : size === 2 ? 126 : 127)
  if (size === 2) head.writeUInt16BE(length, 2)
  if (size === 8) head.writeBigUInt64BE(BigInt(length), 2)
  // A payload that looks like headers.
  return Buffer.concat([head, Buffer.alloc(4 + length, 0x81)])
}

const [text, continuation, ping] = [1, 0, 9]

const ignored: FrameEvents = {
  received() {},
  pinged() {},
  receivedIdle() {},
  concluded() {},
  violated() {},
}

/** The bytes of a masked frame with a payload. */
function maskedFrame(opcode: number, payload: Buffer, mask: number, isFinal: boolean): Buffer {
  const bytes = frame(opcode, payload.length, { fin: isFinal })
  const start = bytes.length - payload.length
  bytes.writeUInt32BE(mask, start - 4)
  for (const [at, byte] of payload.entries())
    bytes[start + at] = byte ^ (bytes[start - 4 + (at % 4)] as number)
  return bytes
}

describe('frames', () => {
  const sent = fc.record({
    payload: fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.constant('é'.repeat(40_000)),
    ),
    isBinary: fc.boolean(),
    cuts: fc.array(fc.nat(300), { maxLength: 3 }),
    mask: fc.nat(2 ** 32 - 1),
    pings: fc.boolean(),
  })

  it('give the messages and pings that were sent, wherever reads, fragments and characters are cut', () => {
    fc.assert(
      fc.property(fc.array(sent, { maxLength: 5 }), fc.array(fc.nat(70_000)), (all, reads) => {
        const expected: string[] = []
        const parts: Buffer[] = []
        for (const { payload, isBinary, cuts, mask, pings } of all) {
          const bytes = Buffer.from(payload)
          const ends = [...cuts.filter((cut) => cut <= bytes.length), bytes.length]
          let start = 0
          for (const [index, end] of ends.toSorted((a, b) => a - b).entries()) {
            const opcode = index > 0 ? continuation : isBinary ? 2 : text
            const isLast = index === ends.length - 1
            parts.push(maskedFrame(opcode, bytes.subarray(start, end), mask, isLast))
            if (pings && !isLast) parts.push(maskedFrame(ping, Buffer.from('p'), mask, true))
            if (pings && !isLast) expected.push('ping p')
            start = end
          }
          expected.push(`${isBinary} ${bytes.toString('hex')}`)
        }
        const seen: string[] = []
        const reader = new FrameReader({
          ...ignored,
          received: (message, isBinary) => seen.push(`${isBinary} ${message.toString('hex')}`),
          pinged: (payload) => seen.push(`ping ${payload}`),
          violated: (code) => seen.push(`violated ${code}`),
        })
        const stream = Buffer.concat(parts)
        const borders = [...reads, stream.length].filter((at) => at <= stream.length)
        let at = 0
        for (const border of new Set(borders.toSorted((a, b) => a - b))) {
          if (border > at) reader.add(Buffer.from(stream.subarray(at, border)))
          at = border
        }
        expect(seen).toEqual(expected)
      }),
      { numRuns: 200 },
    )
  })

  it('that came in one read do not keep the memory of the message before, which came in several', () => {
    const stream = Buffer.concat([frame(text, 70_000), frame(ping, 3)])
    const memory: number[] = []
    const reader = new FrameReader({
      ...ignored,
      violated: (code) => expect.unreachable(`${code}`),
      received: (message) => expect(message).toHaveLength(70_000),
      pinged: ({ buffer }) => memory.push(buffer.byteLength),
    })
    for (const border of [1, 60_000, stream.length]) {
      const start = border === 1 ? 0 : border === 60_000 ? 1 : 60_000
      const read = Buffer.allocUnsafeSlow(border - start)
      stream.copy(read, 0, start, border)
      reader.add(read)
    }
    expect(memory).toEqual([stream.length - 60_000])
  })

  it('after a close frame or a violation are not read', () => {
    for (const first of [frame(8, 0), frame(3, 0)]) {
      let ends = 0
      const reader = new FrameReader({
        ...ignored,
        received: () => expect.unreachable(),
        concluded: () => ends++,
        violated: () => ends++,
      })
      reader.add(Buffer.concat([first, frame(text, 0)]))
      reader.add(frame(text, 0))
      expect(ends).toBe(1)
    }
  })
})

describe('an unfinished frame', () => {
  it('is noticed at every cut of frames, fragments and control frames', () => {
    const begun = frame(text, 5, { fin: false })
    const stream = [
      frame(text, 0),
      frame(text, 200),
      frame(ping, 3),
      frame(text, 70_000),
      frame(text, 4, { form: 8 }),
      Buffer.concat([begun, frame(ping, 2), frame(continuation, 0, { fin: false })]),
      frame(continuation, 9),
    ]
    // The fragments of the sixth part end with the seventh.
    const ends = stream.map((_, at) => Buffer.concat(stream.slice(0, at + 1)).length)
    const borders = new Set(ends.filter((_, at) => at !== 5))
    const bytes = Buffer.concat(stream)
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 })), fc.nat(70_500), (sizes, jump) => {
        const unfinished = new FrameReader(ignored)
        let at = 0
        for (const size of [...sizes, jump + 1, ...sizes, bytes.length]) {
          if (at === bytes.length) break
          const chunk = Buffer.from(bytes.subarray(at, at + size))
          at += chunk.length
          expect(unfinished.add(chunk)).toBe(!borders.has(at))
        }
      }),
      { numRuns: 200 },
    )
  })

  it('counts the memory of its reads, and 300 bytes for each read and fragment', () => {
    const unfinished = new FrameReader(ignored)
    const bytes = frame(text, 1_000)
    const read = Buffer.allocUnsafeSlow(65_536)
    bytes.copy(read)
    expect(unfinished.add(read.subarray(0, 10))).toBe(true)
    expect(unfinished).toMatchObject({ bytes: 10, reads: 1, retained: 65_536 + 600 })
    for (let count = 0; count < 5; count++) unfinished.add(Buffer.allocUnsafeSlow(1))
    expect(unfinished).toMatchObject({ bytes: 15, reads: 6, retained: 65_536 + 600 + 5 * 301 })
  })

  it('begins anew in the chunk in which another one ends', () => {
    const unfinished = new FrameReader(ignored)
    unfinished.add(frame(text, 70_000).subarray(0, 70_000))
    expect(unfinished.steps).toBe(1)
    const rest = Buffer.concat([
      frame(text, 70_000).subarray(70_000),
      frame(text, 9).subarray(0, 3),
    ])
    expect(unfinished.add(rest)).toBe(true)
    expect(unfinished).toMatchObject({ bytes: 3, reads: 1, steps: 2 })
  })
})
