import { describe, expect, it } from 'vitest'
import { textFrame } from '../../../packages/server/src/sessions/frames.js'
import { clientFrame, FrameReader } from './frames.js'

describe('frames of the benchmark', () => {
  it('are read whole, however their bytes arrive', () => {
    const short = ['', 'a', 'b'.repeat(125), 'c'.repeat(126)]
    const all = [...short, 'd'.repeat(70_000)]
    for (const { texts, step } of [
      { texts: short, step: 1 },
      { texts: all, step: 1_000 },
      { texts: all, step: 100_000 },
    ]) {
      const bytes = Buffer.concat(texts.map((text) => textFrame(text)))
      const read: string[] = []
      const reader = new FrameReader((opcode, payload) => read.push(`${opcode}${payload}`))
      for (let at = 0; at < bytes.length; at += step) reader.read(bytes.subarray(at, at + step))
      expect(read).toEqual(texts.map((text) => `1${text}`))
    }
  })

  it('are written with a mask of zeros', () => {
    expect(clientFrame('hi').toString('hex')).toBe(`8182${'00'.repeat(4)}6869`)
    expect(clientFrame('x'.repeat(300)).subarray(0, 4).toString('hex')).toBe('81fe012c')
  })
})
