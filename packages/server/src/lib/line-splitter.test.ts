import { describe, expect, it } from 'vitest'
import { LineSplitter } from './line-splitter.js'

describe('the lines of chunks', () => {
  it.each([1, 2, 3, 7, 64])(
    'of %i bytes are those of the whole, and the rest is counted',
    (size) => {
      const text = 'a\n\né😀, a longer one\nb\nrest'
      const bytes = Buffer.from(text)
      const splitter = new LineSplitter((problem) => new Error(problem))
      const chunk = Buffer.alloc(size)
      const lines: string[] = []
      for (let at = 0; at < bytes.length; at += size)
        lines.push(...splitter.add(chunk.subarray(0, bytes.copy(chunk, 0, at))))
      expect(lines).toEqual(['a', '', 'é😀, a longer one', 'b'])
      expect(splitter.rest).toBe(4)
    },
  )

  it('are refused when one is longer than 16 MiB', () => {
    const splitter = new LineSplitter((problem) => new Error(`the file ${problem}`))
    const chunk = Buffer.alloc(2 ** 20, 'a')
    for (let each = 0; each < 16; each++) splitter.add(chunk)
    expect(() => splitter.add(chunk)).toThrow('the file has a line of more than 16 MiB')
  })

  it.each([[0xff], [0xed, 0xa0, 0x80], [0xc3]])(
    'are refused with bytes that are no UTF-8',
    (...bytes) => {
      const splitter = new LineSplitter((problem) => new Error(`the file ${problem}`))
      expect(() => splitter.add(Buffer.from([0x61, ...bytes, 0x0a]))).toThrow('no UTF-8')
    },
  )
})
