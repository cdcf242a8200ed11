import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { RateLimiter } from './rate-limiter.js'

let nowMs = 1_000_000

beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
})
afterEach(() => {
  vi.restoreAllMocks()
})

describe('RateLimiter', () => {
  it('lets a burst through and then returns the whole seconds to wait', () => {
    const limiter = new RateLimiter<string>({ perSecond: 1, burst: 3 })
    expect([1, 2, 3, 4, 5].map(() => limiter.take('a'))).toEqual([0, 0, 0, 1, 1])
    nowMs += 1000
    expect([limiter.take('a'), limiter.take('a')]).toEqual([0, 1])
  })

  it('fills up to the burst again and no further', () => {
    const limiter = new RateLimiter<string>({ perSecond: 10, burst: 2 })
    limiter.take('a')
    limiter.take('a')
    nowMs += 3_600_000
    expect([limiter.take('a'), limiter.take('a'), limiter.take('a')]).toEqual([0, 0, 1])
  })

  it('keeps keys apart', () => {
    const limiter = new RateLimiter<number | bigint>({ perSecond: 1, burst: 1 })
    expect([
      limiter.take(1),
      limiter.take(1),
      limiter.take(2),
      limiter.take(9007199254740993n),
    ]).toEqual([0, 1, 0, 0])
  })

  it('gives back what was taken and no more', () => {
    const limiter = new RateLimiter<string>({ perSecond: 1, burst: 1 })
    limiter.take('a')
    limiter.giveBack('a')
    limiter.giveBack('a')
    limiter.giveBack('never seen')
    expect([limiter.take('a'), limiter.take('a'), limiter.take('never seen')]).toEqual([0, 1, 0])
  })
})
