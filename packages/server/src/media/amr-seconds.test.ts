import { describe, expect, it } from 'vitest'
import { amrSeconds } from './amr-seconds.js'

const voice = (header: string, ...frames: readonly Buffer[]) =>
  Buffer.concat([Buffer.from(header), ...frames])

/** @param type of the frame, in bits 3 to 6 of its header */
const frame = (type: number, bytes: number) => {
  const made = Buffer.alloc(bytes)
  made[0] = type << 3
  return made
}

describe('the seconds of a voice in AMR', () => {
  it('are counted by the headers of its frames of 20 ms', () => {
    const second = Array.from({ length: 50 }, () => frame(7, 32))
    expect(amrSeconds(voice('#!AMR\n', ...second, ...second))).toBe(2)
    const wide = Array.from({ length: 25 }, () => frame(2, 33))
    expect(amrSeconds(voice('#!AMR-WB\n', ...wide))).toBe(0.5)
  })

  it('include frames without data, which are one byte each', () => {
    expect(amrSeconds(voice('#!AMR\n', Buffer.alloc(90_000, 0x7c)))).toBe(1_800)
  })

  it('are none in anything else', () => {
    for (const text of ['', '#!AMR', '#!AMR\n', 'RIFF'])
      expect(amrSeconds(Buffer.from(text))).toBe(0)
  })
})
