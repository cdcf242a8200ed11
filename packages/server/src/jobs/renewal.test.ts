import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { renewing } from './renewal.js'

const everyMs = 10_000

let renewals: number
let isHeld: boolean

beforeEach(() => {
  vi.useFakeTimers()
  renewals = 0
  isHeld = true
})
afterEach(() => {
  vi.useRealTimers()
})

const failed = vi.fn()

function runs<T>(
  work: (lost: AbortSignal) => Promise<T>,
  ending = new AbortController().signal,
): Promise<T> {
  const renew = async () => {
    renewals++
    return isHeld
  }
  return renewing(work, { everyMs, renew, failed, ending })
}

describe('renewing', () => {
  it('renews while work runs, and returns the result of the work', async () => {
    const work = runs(() => new Promise((end) => setTimeout(end, 9 * everyMs + 1, 'done')))
    await vi.advanceTimersByTimeAsync(9 * everyMs + 1)
    expect(await work).toBe('done')
    await vi.advanceTimersByTimeAsync(2 * everyMs)
    expect(renewals).toBe(9)
  })

  it('aborts work whose lease another node has', async () => {
    let signal: AbortSignal | undefined
    const work = runs((lost) => {
      signal = lost
      return new Promise((end) => lost.addEventListener('abort', () => end('ended')))
    })
    isHeld = false
    expect(signal?.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(everyMs)
    expect(await work).toBe('ended')
  })

  it('continues work when a renewal fails, and reports it', async () => {
    const error = new Error('no database')
    const work = renewing(
      (lost) => new Promise((end) => setTimeout(() => end(lost.aborted), 3 * everyMs)),
      {
        everyMs,
        renew: () => Promise.reject(error),
        failed,
        ending: new AbortController().signal,
      },
    )
    await vi.advanceTimersByTimeAsync(3 * everyMs)
    expect(await work).toBe(false)
    expect(failed).toHaveBeenCalledWith(error)
  })

  it('renews no more once the work is to end', async () => {
    const ending = new AbortController()
    const work = runs(() => new Promise((end) => setTimeout(end, 3 * everyMs)), ending.signal)
    ending.abort()
    await vi.advanceTimersByTimeAsync(3 * everyMs)
    await work
    expect(renewals).toBe(0)
  })

  it('fails as its work does', async () => {
    await expect(runs(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  })
})
