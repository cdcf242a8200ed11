import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { EventWaits } from './event-waits.js'

const never = new AbortController().signal

describe('waits for events', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('end at the wake of their application, at their time, or at the abort, and leave no timer', async () => {
    const waits = new EventWaits({ heads: null })
    const abort = new AbortController()
    const enter = (appId: string, ms: number, signal = never) => {
      const wait = waits.enter(appId)
      wait.arm()
      return { wait, ended: wait.woken(ms, signal) }
    }
    const woken = enter('a', 30_000)
    const late = enter('b', 1_000)
    const aborted = enter('b', 30_000, abort.signal)
    expect(vi.getTimerCount()).toBe(3)
    waits.wake('a')
    await woken.ended
    vi.advanceTimersByTime(1_000)
    await late.ended
    abort.abort()
    await aborted.ended
    expect(vi.getTimerCount()).toBe(0)
    for (const { wait } of [woken, late, aborted]) wait[Symbol.dispose]()
    expect(waits.size).toBe(0)
  })

  it('a wake after arming and before the wait is not lost', async () => {
    const wait = new EventWaits({ heads: null }).enter('a')
    wait.arm()
    wait.wake()
    await wait.woken(30_000, never)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('the 11th call of an application is refused, and may wait when another one has left', () => {
    const waits = new EventWaits({ heads: null })
    const [first] = Array.from({ length: 10 }, () => waits.enter('a'))
    expect(() => waits.enter('a')).toThrow('too many readers of events')
    waits.enter('b')
    first?.[Symbol.dispose]()
    waits.enter('a')
  })

  it('with several nodes one query each second looks for the events of others, while calls wait', async () => {
    let head = 7
    const heads = vi.fn(async () => new Map([['a', head]]))
    const waits = new EventWaits({ heads })
    const all = Array.from({ length: 10 }, () => waits.enter('a'))
    await vi.advanceTimersByTimeAsync(3_000)
    expect(heads).toHaveBeenCalledTimes(3)
    for (const wait of all) wait.arm()
    const ended = Promise.all(all.map((wait) => wait.woken(30_000, never)))
    head = 8
    await vi.advanceTimersByTimeAsync(1_000)
    await ended
    for (const wait of all) wait[Symbol.dispose]()
    expect(vi.getTimerCount()).toBe(0)
  })
})
