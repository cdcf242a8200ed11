import { describe, expect, it } from 'vitest'
import { pingFrame, pongFrame, textFrame } from './frames.js'

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

  it('of pings and pongs have an opcode and a payload', () => {
    expect(pingFrame.toString('hex')).toBe('8900')
    expect(pongFrame(Buffer.from('x')).toString('hex')).toBe('8a0178')
  })
})
