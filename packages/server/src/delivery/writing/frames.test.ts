import { describe, expect, it } from 'vitest'
import { eventFrame, textFrame } from './frames.js'

describe('frames', () => {
  it('have the length of RFC 6455 in one, two or eight bytes', () => {
    for (const [length, header] of [
      [0, '8100'],
      [125, '817d'],
      [126, '817e007e'],
      [65_535, '817effff'],
      [65_536, '817f0000000000010000'],
    ] as const) {
      const frame = textFrame('x'.repeat(length))
      expect(frame.subarray(0, header.length / 2).toString('hex')).toBe(header)
      expect(frame.length).toBe(header.length / 2 + length)
    }
  })

  it('count bytes, not characters', () => {
    const frame = textFrame('é€😀')
    expect(frame[1]).toBe(9)
    expect(frame.subarray(2).toString()).toBe('é€😀')
  })

  it('of events have the change number where there is one', () => {
    const read = (frame: Buffer) => frame.subarray(2).toString()
    expect(read(eventFrame('message.read', { seq: 1 }))).toBe(
      '{"event":"message.read","data":{"seq":1}}',
    )
    expect(read(eventFrame('message.stored', {}, 7))).toBe(
      '{"event":"message.stored","data":{},"change":7}',
    )
  })
})
