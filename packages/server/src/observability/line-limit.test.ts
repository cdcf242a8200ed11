import { expect, it } from 'vitest'
import { LineLimit } from './line-limit.js'

it('lets one line a second pass and says how many it has left out', () => {
  const limit = new LineLimit()
  expect([0, 1, 999, 1_000, 1_001, 5_000].map((now) => limit.next(now))).toEqual([
    0,
    null,
    null,
    2,
    null,
    1,
  ])
})

it('lets as few pass as is said', () => {
  const limit = new LineLimit(60_000)
  expect([0, 59_999, 60_000].map((now) => limit.next(now))).toEqual([0, null, 1])
})
