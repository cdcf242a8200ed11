import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Lease } from './lease.js'

const ttlMs = 30_000

/** The owner of the one lease that all share. */
let owner: { readonly name: string; readonly until: number } | null
let asked: number

beforeEach(() => {
  vi.useFakeTimers()
  owner = null
  asked = 0
})
afterEach(() => {
  vi.useRealTimers()
})

function leaseOf(name: string): Lease {
  return new Lease({
    ttlMs,
    async acquire(ms) {
      asked++
      if (owner && owner.name !== name && owner.until > Date.now()) return false
      owner = { name, until: Date.now() + ms }
      return true
    },
    async release() {
      if (owner?.name === name) owner = null
    },
  })
}

const failed = vi.fn()

describe('Lease', () => {
  it('has one holder, and another one once it is given back', async () => {
    const [first, second] = [leaseOf('a'), leaseOf('b')]
    expect([await first.take(), await second.take()]).toEqual([true, false])
    expect([first.isHeld, second.isHeld]).toEqual([true, false])
    await second.release()
    expect(owner?.name).toBe('a')
    await first.release()
    expect([first.isHeld, await second.take()]).toEqual([false, true])
  })

  it('asks for a renewal once a third of it is over', async () => {
    const lease = leaseOf('a')
    await lease.take()
    vi.advanceTimersByTime(ttlMs / 3 - 1)
    await lease.take()
    expect(asked).toBe(1)
    vi.advanceTimersByTime(1)
    await lease.take()
    expect(asked).toBe(2)
    vi.advanceTimersByTime(ttlMs)
    expect(lease.isHeld).toBe(false)
  })

  it('is not held when taking it takes longer than it lasts', async () => {
    const lease = new Lease({
      ttlMs,
      async acquire() {
        vi.advanceTimersByTime(ttlMs)
        return true
      },
    })
    expect(await lease.take()).toBe(false)
  })

  it('is renewed while work runs, and returns the result of the work', async () => {
    const lease = leaseOf('a')
    await lease.take()
    const work = lease.keep(() => new Promise((end) => setTimeout(end, 10 * ttlMs, 'done')), {
      failed,
    })
    await vi.advanceTimersByTimeAsync(9 * ttlMs)
    expect(await leaseOf('b').take()).toBe(false)
    await vi.advanceTimersByTimeAsync(ttlMs)
    expect(await work).toBe('done')
    const before = asked
    await vi.advanceTimersByTimeAsync(ttlMs)
    expect(asked).toBe(before)
  })

  it('aborts work whose lease another owner has', async () => {
    const lease = leaseOf('a')
    await lease.take()
    let signal: AbortSignal | undefined
    const work = lease.keep(
      (lost) => {
        signal = lost
        return new Promise((end) => lost.addEventListener('abort', () => end('ended')))
      },
      { failed },
    )
    owner = { name: 'b', until: Date.now() + 10 * ttlMs }
    expect(signal?.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(ttlMs / 3)
    expect(await work).toBe('ended')
  })

  it('continues work when a renewal fails, and reports it', async () => {
    const error = new Error('no database')
    const failures = vi.fn()
    const lease = new Lease({ ttlMs, acquire: () => Promise.reject(error) })
    const work = lease.keep(
      (lost) => new Promise((end) => setTimeout(() => end(lost.aborted), ttlMs)),
      { failed: failures },
    )
    await vi.advanceTimersByTimeAsync(ttlMs)
    expect(await work).toBe(false)
    expect(failures).toHaveBeenCalledWith(error)
  })

  it('is renewed no more once the work is to end', async () => {
    const ending = new AbortController()
    const work = leaseOf('a').keep(() => new Promise((end) => setTimeout(end, 3 * ttlMs)), {
      failed,
      ending: ending.signal,
    })
    ending.abort()
    await vi.advanceTimersByTimeAsync(3 * ttlMs)
    await work
    expect(asked).toBe(0)
  })

  it('fails as its work does, and can fail to be given back', async () => {
    const lease = new Lease({
      ttlMs,
      acquire: async () => true,
      release: () => Promise.reject(new Error('no database')),
    })
    await lease.take()
    const work = lease.keep(() => Promise.reject(new Error('failed')), { failed })
    await expect(work).rejects.toThrow('failed')
    await lease.release()
    expect(lease.isHeld).toBe(false)
  })
})
