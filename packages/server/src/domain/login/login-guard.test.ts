import type { AppError } from '@hermod/protocol'
import { beforeEach, describe, expect, it } from 'vitest'
import { type LoginAttempt, LoginGuard } from './login-guard.js'

const minuteMs = 60_000
let nowMs: number
let guard: LoginGuard

beforeEach(() => {
  nowMs = 1_800_000_000_000
  guard = new LoginGuard({
    clock: { now: () => nowMs },
    userFailures: 5,
    addressFailures: 20,
    maxWaitMs: 60_000,
    forgetMs: 15 * minuteMs,
  })
})

function by(
  userId: number | null,
  address: string | null = '192.0.2.1',
  appId = 'home',
): LoginAttempt {
  return { appId, userId, address }
}

function fail(times: number, attempt: LoginAttempt): void {
  for (let count = 0; count < times; count++) guard.failed(attempt)
}

/** The seconds that the attempt has to wait; 0: none. */
function waitOf(attempt: LoginAttempt): number {
  try {
    guard.check(attempt)
    return 0
  } catch (error) {
    expect(error).toMatchObject({ errorName: 'too_many_requests' })
    return (error as AppError).options.retryAfterSeconds ?? Number.NaN
  }
}

describe('failures of one user', () => {
  it('cost nothing at first, then a wait that doubles up to the longest', () => {
    const waits: number[] = []
    for (let count = 1; count <= 13; count++) {
      guard.failed(by(1))
      const wait = waitOf(by(1))
      waits.push(wait)
      nowMs += wait * 1000
      expect(waitOf(by(1))).toBe(0)
    }
    expect(waits).toEqual([0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  it('are answered with the whole seconds that are left', () => {
    fail(7, by(1))
    expect(waitOf(by(1))).toBe(4)
    nowMs += 3001
    expect(waitOf(by(1))).toBe(1)
    nowMs += 999
    expect(waitOf(by(1))).toBe(0)
  })

  it('count from all addresses together, and for no other user', () => {
    for (let last = 1; last <= 5; last++) guard.failed(by(1, `192.0.2.${last}`))
    expect(waitOf(by(1, '192.0.2.99'))).toBe(1)
    expect(waitOf(by(2, '192.0.2.1'))).toBe(0)
    expect(waitOf(by(1, '192.0.2.99', 'elsewhere'))).toBe(0)
  })

  it('are forgotten with a success and after a quiet time', () => {
    fail(5, by(1))
    guard.succeeded(by(1, null))
    expect(waitOf(by(1))).toBe(0)
    fail(4, by(1))
    expect(waitOf(by(1))).toBe(0)
    nowMs += 15 * minuteMs
    fail(4, by(1))
    expect(waitOf(by(1))).toBe(0)
    fail(1, by(1))
    expect(waitOf(by(1))).toBe(1)
  })

  it('do not keep the user waiting at an address that the user logged in from', () => {
    guard.succeeded(by(1, '198.51.100.7'))
    fail(30, by(1, '192.0.2.1'))
    expect(waitOf(by(1, '192.0.2.1'))).toBe(60)
    expect(waitOf(by(1, '198.51.100.7'))).toBe(0)
    fail(5, by(1, '198.51.100.7'))
    expect(waitOf(by(1, '198.51.100.7'))).toBe(1)
  })

  it('do not keep anybody waiting longer than that when the clock is set back', () => {
    fail(5, by(1))
    nowMs -= 60 * minuteMs
    expect(waitOf(by(1))).toBe(1)
  })
})

describe('failures from one address', () => {
  it('cost a wait for every user there, also those of unknown names', () => {
    for (let userId = 1; userId <= 10; userId++) guard.failed(by(userId))
    fail(9, by(null))
    expect(waitOf(by(50))).toBe(0)
    guard.failed(by(null))
    expect([waitOf(by(50)), waitOf(by(null))]).toEqual([1, 1])
    expect(waitOf(by(50, '192.0.2.2'))).toBe(0)
    guard.failed(by(51))
    expect(waitOf(by(50))).toBe(2)
  })

  it('are not forgotten with a success, but one by one with time', () => {
    fail(20, by(null))
    guard.succeeded(by(1))
    nowMs += 1000
    expect(waitOf(by(2))).toBe(0)
    nowMs += 5 * minuteMs
    fail(6, by(null))
    expect(waitOf(by(2))).toBe(0)
    fail(1, by(null))
    expect(waitOf(by(2))).toBe(1)
  })

  it('do not keep those waiting who logged in from there', () => {
    guard.succeeded(by(1))
    fail(30, by(null))
    expect([waitOf(by(1)), waitOf(by(2))]).toEqual([0, 60])
  })

  it('count for the whole network of an IPv6 address', () => {
    for (let last = 1; last <= 20; last++) guard.failed(by(null, `2001:db8::${last}`))
    expect(waitOf(by(1, '2001:db8::ffff'))).toBe(1)
  })

  it('are not counted for an application server', () => {
    fail(50, by(null, null))
    expect(waitOf(by(null, null))).toBe(0)
    fail(5, by(1, null))
    expect([waitOf(by(1, null)), waitOf(by(2, null))]).toEqual([1, 0])
  })

  it('through an application server keep no one waiting outside, nor the other way round', () => {
    fail(5, by(1))
    expect([waitOf(by(1)), waitOf(by(1, null))]).toEqual([1, 0])
    fail(5, by(2, null))
    expect([waitOf(by(2, '192.0.2.50')), waitOf(by(2, null))]).toEqual([0, 1])
    guard.succeeded(by(2, null))
    expect(waitOf(by(2, null))).toBe(0)
  })
})

describe('verify', () => {
  it('notes successes and failures', async () => {
    for (let count = 0; count < 5; count++)
      expect(await guard.verify(by(1), async () => false)).toBe(false)
    await expect(guard.verify(by(1), async () => true)).rejects.toMatchObject({
      errorName: 'too_many_requests',
    })
    nowMs += 1000
    expect(await guard.verify(by(1), async () => true)).toBe(true)
    expect(waitOf(by(1))).toBe(0)
  })

  it.each([
    ['one user', by(1)],
    ['unknown names from one address', by(null)],
  ])(
    'checks no more passwords than are free to try when all come at once for %s',
    async (_, attempt) => {
      const free = attempt.userId === null ? 20 : 5
      let checked = 0
      const isRight = async () => {
        checked++
        await new Promise((resolve) => setImmediate(resolve))
        return false
      }
      const results = await Promise.allSettled(
        Array.from({ length: 200 }, () => guard.verify(attempt, isRight)),
      )
      expect(checked).toBe(free)
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(free)
    },
  )

  it('lets all through that come at once with the right password', async () => {
    const isRight = () => new Promise<boolean>((resolve) => setImmediate(resolve, true))
    expect(
      await Promise.all(Array.from({ length: 50 }, () => guard.verify(by(1), isRight))),
    ).toEqual(Array(50).fill(true))
  })

  it('counts a check that failed to be made as nothing, and lets the next one through', async () => {
    const broken = () => Promise.reject(new Error('no memory'))
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, () => guard.verify(by(1), broken)),
    )
    expect(
      results.every(
        (result) => result.status === 'rejected' && result.reason.message === 'no memory',
      ),
    ).toBe(true)
    expect(await guard.verify(by(1), async () => true)).toBe(true)
  })
})
