import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../clock.js'
import { TokenBucket } from './token-bucket.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('TokenBucket', () => {
  it('fills up to the burst and no further', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 5 }, systemClock)
    vi.setSystemTime(Date.now() + 3_600_000)
    expect(bucket.reserve(5, 0)).toBe(0)
    expect(bucket.reserve(1, 0)).toBeNull()
    expect(bucket.reserve(1, 1000)).toBe(100)
    expect(bucket.reserve(1, 1000)).toBe(200)
  })

  it('fills at half the rate when slowed down, and at the whole rate a minute later', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 10 }, systemClock)
    bucket.reserve(10, 0)
    bucket.slowDown()
    expect(bucket.reserve(1, 1000)).toBe(200)
    for (let count = 0; count < 10; count++) bucket.slowDown()
    expect(bucket.reserve(0, 10_000)).toBe(1600)
    vi.setSystemTime(Date.now() + 5 * 60_000)
    bucket.reserve(10, 0)
    expect(bucket.reserve(1, 1000)).toBe(100)
  })

  it('returns the wait for more tokens than its burst', () => {
    const bucket = new TokenBucket({ perSecond: 10, burst: 10 }, systemClock)
    expect(bucket.reserve(30, 10_000)).toBe(2000)
  })
})
