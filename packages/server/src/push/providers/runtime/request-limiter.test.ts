import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../lib/clock.js'
import { RequestLimiter, type RequestLimits } from './request-limiter.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function limiterWith(limits: Partial<RequestLimits> = {}): RequestLimiter {
  const all = { perSecond: 10, burst: 10, maxInFlight: 2, maxQueued: 2, maxWaitMs: 1000 }
  return new RequestLimiter({ ...all, ...limits }, systemClock)
}

/** Work that the test ends. */
function work() {
  const ends: (() => void)[] = []
  let most = 0
  let running = 0
  const run = () =>
    new Promise<string>((resolve) => {
      most = Math.max(most, ++running)
      ends.push(() => {
        running--
        resolve('done')
      })
    })
  return { run, ends, most: () => most }
}

describe('RequestLimiter', () => {
  it('runs so many at once and the others in their order; those beyond the queue are refused', async () => {
    const { run, ends, most } = work()
    const limiter = limiterWith()
    const results = [1, 2, 3, 4, 5].map(() => limiter.run(1, run))
    expect(await results[4]).toEqual({ code: 'queue_full', retryAfterMs: 1000 })
    for (let count = 1; count <= 4; count++) {
      await vi.advanceTimersByTimeAsync(0)
      ends.shift()?.()
    }
    expect(await Promise.all(results.slice(0, 4))).toEqual(['done', 'done', 'done', 'done'])
    expect(most()).toBe(2)
    expect(limiter.inFlight).toBe(0)
  })

  it('holds back what exceeds the rate, and refuses what would wait too long', async () => {
    const limiter = limiterWith({ maxInFlight: 100 })
    const done = vi.fn()
    const start = (cost: number) => limiter.run(cost, async () => 'done').then(done)
    await start(10)
    const late = [start(5), start(5), start(1)]
    await late[2]
    const refusal = { code: 'rate_exceeded', retryAfterMs: 2000 }
    expect(done).toHaveBeenLastCalledWith(refusal)
    await vi.advanceTimersByTimeAsync(499)
    expect(done).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(501)
    expect(done.mock.calls.map(([result]) => result)).toEqual(['done', refusal, 'done', 'done'])
  })

  it('refuses at once what the rate would not reach in time behind those that wait for a place', async () => {
    const limiter = limiterWith({ perSecond: 2, burst: 1, maxInFlight: 1, maxQueued: 100 })
    const done = vi.fn()
    const all = Array.from({ length: 10 }, () => limiter.run(1, async () => 'done').then(done))
    await Promise.all(all.slice(3))
    // One behind the other, two a second.
    expect(done.mock.calls.map(([{ retryAfterMs }]) => retryAfterMs / 1000)).toEqual([
      2, 2, 3, 3, 4, 4, 5,
    ])
    await vi.advanceTimersByTimeAsync(1000)
    expect(done.mock.calls.filter(([result]) => result === 'done')).toHaveLength(3)
  })

  it('lets nobody who was refused wait for more than five minutes', async () => {
    const limiter = limiterWith({ perSecond: 1, burst: 1, maxWaitMs: 0 })
    const runs = Array.from({ length: 1000 }, () => limiter.run(1, async () => 'done'))
    expect((await Promise.all(runs)).at(-1)).toMatchObject({ retryAfterMs: 300_000 })
  })

  it('lets those that were refused come as fast as it is slowed down to', async () => {
    const limiter = limiterWith({ perSecond: 16, burst: 1, maxWaitMs: 0 })
    for (let times = 0; times < 4; times++) limiter.slowDown()
    const runs = Array.from({ length: 6 }, () => limiter.run(1, async () => 'done'))
    const [, ...refused] = await Promise.all(runs)
    const seconds = refused.map((refusal) =>
      typeof refusal === 'string' ? 0 : refusal.retryAfterMs / 1000,
    )
    expect(seconds).toEqual([1, 2, 3, 4, 5])
  })

  it('gives its place back when the work fails', async () => {
    const limiter = limiterWith({ maxInFlight: 1, maxQueued: 0 })
    await expect(limiter.run(1, () => Promise.reject(new Error('bug')))).rejects.toThrow('bug')
    expect(await limiter.run(1, async () => 'done')).toBe('done')
  })
})
