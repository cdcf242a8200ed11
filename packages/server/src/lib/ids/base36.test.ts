import fc from 'fast-check'
import { expect, it } from 'vitest'
import { toBase36 } from './base36.js'

it('writes every safe integer as the engine does', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      expect(toBase36(value)).toBe(value.toString(36))
    }),
  )
})

it.each([
  0,
  36 ** 5 - 1,
  36 ** 5,
  36 ** 10,
  -(36 ** 5),
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  2n ** 63n - 1n,
])('writes %d', (value) => {
  expect(toBase36(value)).toBe(value.toString(36))
})
