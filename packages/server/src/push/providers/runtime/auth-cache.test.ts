import { describe, expect, it } from 'vitest'
import type { Refusal } from '../../outcomes.js'
import { AuthCache, type GatewayToken } from './auth-cache.js'

const refused: Refusal = { kind: 'config', code: 'no', reason: 'no' }

/** An issuer whose answers the test gives, and a clock that it sets. */
function setUp() {
  const clock = { time: 0, now: () => clock.time }
  const calls: {
    refused: GatewayToken | null
    answer: (result: GatewayToken | Refusal) => void
  }[] = []
  const cache = new AuthCache(
    (previous) =>
      new Promise((resolve) => {
        calls.push({ refused: previous, answer: resolve })
      }),
    clock,
  )
  return { clock, calls, cache }
}

function token(value: string, refreshAt = 1000): GatewayToken {
  return { value, issuedAt: 0, refreshAt }
}

describe('AuthCache', () => {
  it('asks once for all who wait, and keeps the token until it is to be refreshed', async () => {
    const { clock, calls, cache } = setUp()
    const waiting = [cache.get(), cache.get(), cache.get()]
    calls[0]?.answer(token('a'))
    expect(await Promise.all(waiting)).toEqual([token('a'), token('a'), token('a')])
    clock.time = 999
    expect(await cache.get()).toEqual(token('a'))
    expect(calls).toHaveLength(1)
    clock.time = 1000
    const next = cache.get()
    calls[1]?.answer(token('b', 2000))
    expect(await next).toEqual(token('b', 2000))
  })

  it('drops a token once, however many find it refused', async () => {
    const { calls, cache } = setUp()
    const first = cache.get()
    calls[0]?.answer(token('a'))
    await first
    cache.drop(token('a'))
    cache.drop(token('a'))
    const second = cache.get()
    expect(calls).toHaveLength(2)
    expect(calls[1]?.refused).toEqual(token('a'))
    calls[1]?.answer(token('b'))
    await second
    // One that was late to find out drops nothing.
    cache.drop(token('a'))
    expect(await cache.get()).toEqual(token('b'))
    expect(calls).toHaveLength(2)
  })

  it('keeps no refusal: the next that needs a token asks again, and is told what was refused', async () => {
    const { calls, cache } = setUp()
    const first = cache.get()
    calls[0]?.answer(token('a'))
    await first
    cache.drop(token('a'))
    const second = cache.get()
    calls[1]?.answer(refused)
    expect(await second).toEqual(refused)
    const third = cache.get()
    expect(calls[2]?.refused).toEqual(token('a'))
    calls[2]?.answer(token('c'))
    expect(await third).toEqual(token('c'))
  })

  it('asks again after an error', async () => {
    let calls = 0
    const cache = new AuthCache(
      async () => {
        if (calls++ === 0) throw new Error('bug')
        return token('a')
      },
      { now: () => 0 },
    )
    await expect(cache.get()).rejects.toThrow('bug')
    expect(await cache.get()).toEqual(token('a'))
  })
})
