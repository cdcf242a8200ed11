import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { SeqRange } from '../model/records.js'
import { addRange, coveredFrom, covers, removePosition } from './ranges.js'

const end = 40
const span = fc.tuple(fc.integer({ min: 1, max: end }), fc.nat(6))

describe('ranges of positions', () => {
  it('equal a set of numbers, in the shortest form', () => {
    fc.assert(
      fc.property(fc.array(span, { maxLength: 15 }), (spans) => {
        const model = new Set<number>()
        let ranges: readonly SeqRange[] = []
        for (const [first, length] of spans) {
          ranges = addRange(ranges, first, first + length - 1)
          for (let seq = first; seq < first + length; seq++) model.add(seq)
        }
        const has = (seq: number) => model.has(seq)
        for (let seq = 1; seq <= end + 8; seq++) {
          expect(covers(ranges, seq, seq)).toBe(has(seq))
          expect(covers(ranges, seq, seq + 2)).toBe([seq, seq + 1, seq + 2].every(has))
          let from = seq
          while (has(from - 1)) from--
          expect(coveredFrom(ranges, seq)).toBe(from)
        }
        for (const [index, [from, to]] of ranges.entries()) {
          expect(from).toBeLessThanOrEqual(to)
          expect(from).toBeGreaterThan((ranges[index - 1]?.[1] ?? -1) + 1)
        }
      }),
    )
  })

  it('lose one position at a time', () => {
    const ranges = addRange(addRange([], 1, 3), 5, 5)
    expect(removePosition(ranges, 2)).toEqual([
      [1, 1],
      [3, 3],
      [5, 5],
    ])
    expect(removePosition(ranges, 5)).toEqual([[1, 3]])
    expect(removePosition(ranges, 4)).toEqual(ranges)
  })

  it('stay the same object when they have the positions already', () => {
    const ranges = addRange([], 3, 9)
    expect(addRange(ranges, 4, 9)).toBe(ranges)
    expect(addRange(ranges, 9, 4)).toBe(ranges)
  })
})
