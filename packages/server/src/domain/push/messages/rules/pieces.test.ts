import { describe, expect, it } from 'vitest'
import { piecesOf } from './pieces.js'

const pieces = (text: string, size: number) =>
  piecesOf([...text.split(' ')], (item) => item.charAt(0), size).map((piece) => piece.join(' '))

describe('piecesOf', () => {
  it('keeps together what belongs together, in its order', () => {
    expect(pieces('a1 b1 a2 c1 b2', 3)).toEqual(['a1 a2', 'b1 b2 c1'])
  })

  it('makes no piece larger than it may be, except for what cannot be divided', () => {
    expect(pieces('a1 a2 a3 b1', 2)).toEqual(['a1 a2 a3', 'b1'])
  })

  it('makes none of nothing', () => {
    expect(piecesOf([], String, 2)).toEqual([])
  })
})
