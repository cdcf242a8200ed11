import { describe, expect, it } from 'vitest'
import { chunksByKey } from './chunks-by-key.js'

const chunks = (text: string, size: number) =>
  chunksByKey([...text.split(' ')], (item) => item.charAt(0), size).map((chunk) => chunk.join(' '))

describe('chunksByKey', () => {
  it('keeps together what belongs together, in its order', () => {
    expect(chunks('a1 b1 a2 c1 b2', 3)).toEqual(['a1 a2', 'b1 b2 c1'])
  })

  it('makes no chunk larger than it may be, except for what cannot be divided', () => {
    expect(chunks('a1 a2 a3 b1', 2)).toEqual(['a1 a2 a3', 'b1'])
  })

  it('makes none of nothing', () => {
    expect(chunksByKey([], String, 2)).toEqual([])
  })
})
