import { describe, expect, it } from 'vitest'
import { encodeArray, kindsOf } from './arrays.js'

describe('array literals', () => {
  it.each([
    [[], '{}'],
    [['a', 'b'], '{"a","b"}'],
    [['a', 'a', 'b', 'a'], '{"a","a","b","a"}'],
    [[null, null, 'a', null, undefined], '{null,null,"a",null,null}'],
    [['null', '', ' ', '{}', 'a,b'], '{"null",""," ","{}","a,b"}'],
    [['say "yes"', 'C:\\x\\', '\\"'], '{"say \\"yes\\"","C:\\\\x\\\\","\\\\\\""}'],
  ])('of texts %j', (values, literal) => {
    expect(encodeArray('text', values)).toBe(literal)
  })

  it('of numbers', () => {
    expect(encodeArray('bigint', [1, 2n ** 63n - 1n, null, -3])).toBe(
      '{1,9223372036854775807,null,-3}',
    )
  })
})

describe('kinds of rows', () => {
  const rows = [
    ['a', 1, 'x'],
    ['b', 1, 'x'],
    ['c', 2, null],
    ['d', 1, 'x'],
    ['e', 1, null],
    ['f', 1, null],
  ]

  it('are told apart by the named columns, in the order in which they come', () => {
    expect(kindsOf(rows, [1, 2])).toEqual({
      kinds: [rows[0], rows[2], rows[4]],
      kindOf: [1, 1, 2, 1, 3, 3],
    })
  })

  it('are one where no column tells them apart, and none of no rows', () => {
    expect(kindsOf(rows, [])).toEqual({ kinds: [rows[0]], kindOf: [1, 1, 1, 1, 1, 1] })
    expect(kindsOf([], [1])).toEqual({ kinds: [], kindOf: [] })
  })
})
