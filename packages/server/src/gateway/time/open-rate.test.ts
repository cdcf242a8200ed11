import { describe, expect, it } from 'vitest'
import { OpenRate } from './open-rate.js'

describe('OpenRate', () => {
  it('gives every client a time of its own, over the time that their opens need', () => {
    const rate = new OpenRate()
    const times = [...rate.returnTimes(5_000)]
    const sorted = times.toSorted((a, b) => a - b)
    expect(times).not.toEqual(sorted)
    expect(new Set(times).size).toBe(5_000)
    expect(sorted[0]).toBe(1_000)
    expect(sorted.at(-1)).toBeLessThan(1_000 + 5_001)
  })

  it('follows the time that opens take, within bounds', () => {
    const rate = new OpenRate()
    for (let i = 0; i < 500; i++) rate.opened(0.1)
    expect(rate.perSecond).toBeCloseTo(160, 0)
    for (let i = 0; i < 500; i++) rate.opened(60)
    expect(rate.perSecond).toBe(100)
    for (let i = 0; i < 2_000; i++) rate.opened(0.0001)
    expect(rate.perSecond).toBe(1_000)
  })
})
