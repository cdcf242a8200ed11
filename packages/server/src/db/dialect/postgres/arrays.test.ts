import { describe, expect, it } from 'vitest'
import { encodeArray } from './arrays.js'

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
