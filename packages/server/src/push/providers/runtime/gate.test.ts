import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../../lib/clock.js'
import { type GateLimits, RequestGate } from './gate.js'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

function gate(limits: Partial<GateLimits> = {}): RequestGate {
  const all = { perSecond: 10, burst: 10, maxInFlight: 2, maxQueued: 2, maxWaitMs: 1000 }
  return new RequestGate({ ...all, ...limits }, systemClock)
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

describe('RequestGate', () => {
  it('runs so many at once and the others in their order; those beyond the queue are refused', async () => {
    const { run, ends, most } = work()
    const under = gate()
    const results = [1, 2, 3, 4, 5].map(() => under.run(1, run))
    expect(await results[4]).toBe('queue_full')
    for (let count = 1; count <= 4; count++) {
      await vi.advanceTimersByTimeAsync(0)
      ends.shift()?.()
    }
    expect(await Promise.all(results.slice(0, 4))).toEqual(['done', 'done', 'done', 'done'])
    expect(most()).toBe(2)
    expect(under.inFlight).toBe(0)
  })

  it('holds back what exceeds the rate, and refuses what would wait too long', async () => {
    const under = gate({ maxInFlight: 100 })
    const done = vi.fn()
    const start = (cost: number) => under.run(cost, async () => 'done').then(done)
    await start(10)
    const late = [start(5), start(5), start(1)]
    await late[2]
    expect(done).toHaveBeenLastCalledWith('rate_exceeded')
    await vi.advanceTimersByTimeAsync(499)
    expect(done).toHaveBeenCalledTimes(2)
    await vi.advanceTimersByTimeAsync(501)
    expect(done.mock.calls.map(([result]) => result)).toEqual([
      'done',
      'rate_exceeded',
      'done',
      'done',
    ])
  })

  it('gives its place back when the work fails', async () => {
    const under = gate({ maxInFlight: 1, maxQueued: 0 })
    await expect(under.run(1, () => Promise.reject(new Error('bug')))).rejects.toThrow('bug')
    expect(await under.run(1, async () => 'done')).toBe('done')
  })
})
