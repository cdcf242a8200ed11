import { describe, expect, it } from 'vitest'
import { retryDelayMs } from './job-model.js'

describe('the wait before a job is tried again', () => {
  it('doubles with every failure up to ten minutes', () => {
    const waits = [1, 2, 3, 9, 10, 11, 1_000].map((attempts) => retryDelayMs(attempts, 0))
    expect(waits).toEqual([1_000, 2_000, 4_000, 256_000, 512_000, 600_000, 600_000])
  })

  it('is shortened by up to a half by chance', () => {
    expect(retryDelayMs(3, 0.5)).toBe(3_000)
    expect(retryDelayMs(3, 0.999_999)).toBe(2_000)
  })
})
