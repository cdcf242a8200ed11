import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requestedRanges } from './ranges.js'

describe('the ranges that a request asks for', () => {
  it.each([
    [undefined, 'whole'],
    ['bytes=0-', [[0, 9]]],
    ['bytes=0-0', [[0, 0]]],
    ['bytes=3-5', [[3, 5]]],
    ['Bytes = 3-5', [[3, 5]]],
    ['bytes=9-9', [[9, 9]]],
    ['bytes=8-100', [[8, 9]]],
    ['bytes=-1', [[9, 9]]],
    ['bytes=-10', [[0, 9]]],
    ['bytes=-100', [[0, 9]]],
    ['bytes=0-99999999999999999999999999', [[0, 9]]],
    ['bytes=10-', 'outside'],
    ['bytes=10-12', 'outside'],
    ['bytes=99999999999999999999999999-', 'outside'],
    ['bytes=-0', 'outside'],
    ['bytes=-0, 20-', 'outside'],
    ['bytes=20-, 2-3', [[2, 3]]],
    [
      'bytes=0-1, 4-5',
      [
        [0, 1],
        [4, 5],
      ],
    ],
    [
      'bytes= -2 ,\t0-1',
      [
        [8, 9],
        [0, 1],
      ],
    ],
    ['bytes=0-3,2-5', [[0, 5]]],
    ['bytes=0-3,4-5', [[0, 5]]],
    ['bytes=0-1,4-5,2-3', [[0, 5]]],
    ['bytes=0-,0-,0-', [[0, 9]]],
    [
      'bytes=8-9,0-1,7-7',
      [
        [7, 9],
        [0, 1],
      ],
    ],
    ['bytes=5-3', 'whole'],
    ['bytes=5-3,0-1', 'whole'],
    ['bytes=', 'whole'],
    ['bytes', 'whole'],
    ['', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=0-1,', 'whole'],
    ['bytes=a-b', 'whole'],
    ['bytes=0-1-2', 'whole'],
    ['bytes=+1-2', 'whole'],
    ['bytes=0x1-2', 'whole'],
    ['bytes=1.0-2', 'whole'],
    ['bytes=0-1;2-3', 'whole'],
    ['items=0-1', 'whole'],
  ] as const)('%s of 10 bytes', (header, expected) => {
    const ranges = requestedRanges(header, 10)
    const pairs = typeof ranges === 'string' ? ranges : ranges.map(({ start, end }) => [start, end])
    expect(pairs).toEqual(expected)
  })

  it('are at most 32; who asks for more gets all of it', () => {
    const header = (count: number) =>
      `bytes=${Array.from({ length: count }, (_, index) => `${index * 2}-${index * 2}`).join(',')}`
    expect(requestedRanges(header(32), 100)).toHaveLength(32)
    expect(requestedRanges(header(33), 100)).toBe('whole')
    expect(requestedRanges(`bytes=${'0-,'.repeat(5_000)}0-`, 100)).toBe('whole')
  })

  it('of an empty file are outside', () => {
    for (const header of ['bytes=0-', 'bytes=-1', 'bytes=0-0'])
      expect(requestedRanges(header, 0)).toBe('outside')
  })

  it('are apart from one another, and have every byte that was asked for and no other', () => {
    const spec = fc.oneof(
      fc.tuple(fc.nat(40), fc.nat(40)).map(([a, b]) => ({ first: Math.min(a, b), last: a + b })),
      fc.nat(40).map((first) => ({ first, last: null })),
      fc.nat(40).map((last) => ({ first: null, last })),
    )
    fc.assert(
      fc.property(fc.nat(30), fc.array(spec, { minLength: 1, maxLength: 32 }), (size, specs) => {
        const header = specs.map(({ first, last }) => `${first ?? ''}-${last ?? ''}`).join(',')
        const isAsked = (at: number) =>
          specs.some(({ first, last }) =>
            first === null ? at >= size - (last ?? 0) : at >= first && at <= (last ?? at),
          )
        const asked = Array.from({ length: size }, (_, at) => at).filter(isAsked)
        const ranges = requestedRanges(`bytes=${header}`, size)
        if (ranges === 'whole') throw new Error('it is well-formed')
        const got = ranges === 'outside' ? [] : [...ranges]
        const sorted = got.sort((a, b) => a.start - b.start)
        const bytes = sorted.flatMap(({ start, end }) =>
          Array.from({ length: end - start + 1 }, (_, index) => start + index),
        )
        expect(bytes).toEqual(asked)
        for (const [index, { start }] of sorted.entries())
          if (index > 0) expect(start).toBeGreaterThan((sorted[index - 1]?.end ?? 0) + 1)
      }),
    )
  })
})
