import { describe, expect, it } from 'vitest'
import { chunksOf, paddedForPlanCache } from './chunks.js'

describe('chunksOf', () => {
  it.each([
    [[], []],
    [[1], [[1]]],
    [[1, 2], [[1, 2]]],
    [
      [1, 2, 3, 4, 5],
      [[1, 2], [3, 4], [5]],
    ],
  ])('cuts %j into %j', (list, chunks) => {
    expect(chunksOf<number>(list, 2)).toEqual(chunks)
  })
})

describe('paddedForPlanCache', () => {
  it.each([
    [[], []],
    [[1], [1]],
    [
      [1, 2],
      [1, 2],
    ],
    [
      [1, 2, 3],
      [1, 2, 3, 3],
    ],
    [
      [1, 2, 3, 4, 5],
      [1, 2, 3, 4, 5, 5, 5, 5],
    ],
  ])('fills %j to %j', (list, filled) => {
    expect(paddedForPlanCache<number>(list)).toEqual(filled)
  })
})
