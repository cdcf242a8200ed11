import type { AppError } from '@hermod/protocol'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
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
    sharing: null,
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

describe('failures of one user from one network', () => {
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

  it('count for the pair of user and network, and never for the user as a whole', () => {
    fail(30, by(1, '192.0.2.1'))
    expect(waitOf(by(1, '192.0.2.1'))).toBe(60)
    expect(waitOf(by(1, '192.0.2.99'))).toBe(0)
    expect(waitOf(by(1, '192.0.2.99', 'elsewhere'))).toBe(0)
    fail(5, by(1, '2001:db8::1'))
    expect(waitOf(by(1, '2001:db8::ffff'))).toBe(1)
    expect(waitOf(by(1, '2001:db8:0:1::1'))).toBe(0)
  })

  it('are forgotten with a success and after a quiet time', () => {
    fail(5, by(1))
    guard.succeeded(by(1))
    expect(waitOf(by(1))).toBe(0)
    fail(4, by(1))
    expect(waitOf(by(1))).toBe(0)
    nowMs += 15 * minuteMs
    fail(4, by(1))
    expect(waitOf(by(1))).toBe(0)
    fail(1, by(1))
    expect(waitOf(by(1))).toBe(1)
  })

  it.each([
    ['network', '192.0.2.1'],
    ['device', 'device phone'],
    ['session', 'session hash'],
  ])('of a known %s are the only ones that it waits for', (_, origin) => {
    const known = { ...by(1), knownOrigins: [origin] }
    fail(30, by(2))
    fail(30, by(1, '198.51.100.7'))
    expect([waitOf(by(1)), waitOf(known)]).toEqual([60, 0])
    fail(5, known)
    expect(waitOf(known)).toBe(1)
    guard.succeeded(known)
    expect(waitOf(known)).toBe(0)
  })

  it('of a known network leave a known device free there, and the other way round', () => {
    const network = { ...by(1), knownOrigins: ['192.0.2.1'] }
    const device = { ...by(1, '198.51.100.7'), knownOrigins: ['device phone'] }
    const both = { ...by(1), knownOrigins: ['device phone', '192.0.2.1'] }
    fail(9, network)
    expect([waitOf(network), waitOf(device), waitOf(both)]).toEqual([16, 0, 0])
    guard.succeeded(both)
    fail(9, device)
    expect([waitOf(network), waitOf(device), waitOf(both)]).toEqual([0, 16, 0])
    fail(5, both)
    expect(waitOf(both)).toBe(1)
  })

  it('do not keep anybody waiting longer than that when the clock is set back', () => {
    fail(5, by(1))
    nowMs -= 60 * minuteMs
    expect(waitOf(by(1))).toBe(1)
  })
})

describe('failures from one network', () => {
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
    expect(waitOf({ ...by(1, null), knownOrigins: ['device phone'] })).toBe(0)
    fail(5, by(2, null))
    expect([waitOf(by(2, '192.0.2.50')), waitOf(by(2, null))]).toEqual([0, 1])
    guard.succeeded(by(2, null))
    expect(waitOf(by(2, null))).toBe(0)
  })
})

describe('networks that are new to a user', () => {
  const crowd = 20

  beforeEach(() => {
    vi.useFakeTimers()
  })

  afterEach(() => {
    vi.useRealTimers()
  })

  /** A call that is checked with this result, or refused. */
  async function outcomeOf(attempt: LoginAttempt, isRight = false): Promise<string> {
    try {
      return (await guard.verify(attempt, async () => isRight)) ? 'right' : 'wrong'
    } catch (error) {
      return (error as AppError).errorName
    }
  }

  /** What happens meanwhile to calls that wait. */
  async function pass(ms: number): Promise<void> {
    for (let step = 0; step < ms; step += 500) {
      nowMs += 500
      await vi.advanceTimersByTimeAsync(500)
    }
  }

  it('are checked at once up to five a minute, each as often as it may fail', async () => {
    const first = Array.from({ length: 5 }, (_, index) => by(1, `192.0.2.${index}`))
    for (const each of first) expect(await outcomeOf(each)).toBe('wrong')
    for (const each of first) expect(await outcomeOf(each)).toBe('wrong')
    const sixth = outcomeOf(by(1, '192.0.2.6'))
    const other = outcomeOf(by(2, '192.0.2.6'))
    expect(await other).toBe('wrong')
    await pass(6_000)
    expect(await sixth).toBe('too_many_requests')
    await pass(60_000)
    expect(await outcomeOf(by(1, '192.0.2.6'), true)).toBe('right')
  })

  it('give their turn back with a success', async () => {
    for (let count = 0; count < 20; count++)
      expect(await outcomeOf(by(1, `192.0.2.${count}`), true)).toBe('right')
  })

  it('never delay a known device or network', async () => {
    const waiting = Array.from({ length: crowd }, (_, index) =>
      outcomeOf(by(1, `192.0.2.${index}`)),
    )
    for (const origin of ['198.51.100.7', 'device phone'])
      expect(await outcomeOf({ ...by(1, '198.51.100.7'), knownOrigins: [origin] }, true)).toBe(
        'right',
      )
    await pass(6_000)
    expect(await Promise.all(waiting)).toContain('too_many_requests')
  })

  it('use up no turns of networks without failures when they have failed', async () => {
    for (let count = 0; count < 5; count++) await outcomeOf(by(1, `192.0.2.${count}`))
    await pass(60_000)
    for (let count = 0; count < 5; count++)
      expect(await outcomeOf(by(1, `192.0.2.${count}`))).toBe('wrong')
    expect(await outcomeOf(by(1, '198.51.100.7'), true)).toBe('right')
  })

  it('take turns in random order beyond that, so that each comes in at last', async () => {
    for (let count = 0; count < 5; count++) await outcomeOf(by(1, `198.51.100.${count}`))
    const attackers = Array.from({ length: crowd }, (_, index) => `192.0.2.${index}`)
    let checked = 0
    let isIn = false
    const attack = async (address: string) => {
      while (!isIn) {
        if ((await outcomeOf(by(1, address))) === 'wrong') checked++
        else await new Promise((resolve) => setTimeout(resolve, 1_000))
      }
    }
    const honest = async () => {
      while ((await outcomeOf(by(1, '203.0.113.7'), true)) !== 'right')
        await new Promise((resolve) => setTimeout(resolve, 1_000))
      isIn = true
    }
    const all = [...attackers.map(attack), honest()]
    let minutes = 0
    for (; !isIn && minutes < 120; minutes++) await pass(60_000)
    await pass(6_000)
    await Promise.all(all)
    expect(minutes).toBeLessThan(120)
    // Five networks a minute of each kind, and each as often as it may fail at once.
    expect(checked).toBeLessThanOrEqual(10 * 5 * (minutes + 1))
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
      const reasons = results.map((result) => result.status === 'rejected' && result.reason.message)
      // 64 wait for a check, and are refused by its failure.
      expect(reasons.filter((reason) => /logins under way/.test(reason))).toHaveLength(136 - free)
      expect(reasons.filter((reason) => /failed logins/.test(reason))).toHaveLength(64)
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
