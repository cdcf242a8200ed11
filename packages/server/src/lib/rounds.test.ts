import { describe, expect, it } from 'vitest'
import { roundsOf } from './rounds.js'

describe('roundsOf', () => {
  it('gives each key once in a round, and keeps the order of a key', () => {
    const items = ['a1', 'b1', 'a2', 'c1', 'a3', 'b2']
    expect(roundsOf(items, ([key = '']) => key)).toEqual([['a1', 'b1', 'c1'], ['a2', 'b2'], ['a3']])
  })

  it('makes no round of nothing', () => {
    expect(roundsOf([], String)).toEqual([])
  })
})
