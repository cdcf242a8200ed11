import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { UserAllowances } from './allowance.js'

const fileRate = { perSecond: 1_000, burst: 50_000 }
let nowMs = 1_000_000

beforeEach(() => {
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
})
afterEach(() => {
  vi.restoreAllMocks()
})

/** @returns 0 when the call may go on, else the seconds to wait */
function waitOf(begin: () => unknown): number {
  try {
    begin()
    return 0
  } catch (error) {
    return (error as { options: { retryAfterSeconds: number } }).options.retryAfterSeconds
  }
}

describe('UserAllowances', () => {
  it('lets a call go into debt, and the next ones wait until it is paid', () => {
    const users = new UserAllowances({ rate: { perSecond: 100, burst: 200 }, calls: 10, fileRate })
    const first = users.begin(1)
    first.charge(999)
    first.end()
    expect(waitOf(() => users.begin(1))).toBe(9)
    expect(waitOf(() => users.begin(2))).toBe(0)
    nowMs += 8_000
    expect(waitOf(() => users.begin(1))).toBe(1)
    nowMs += 10
    expect(waitOf(() => users.begin(1))).toBe(0)
    expect(waitOf(() => users.begin(1))).toBe(1)
  })

  it('gives back what was charged for nothing', () => {
    const users = new UserAllowances({ rate: { perSecond: 1, burst: 10 }, calls: 10, fileRate })
    const first = users.begin(1)
    first.charge(500)
    first.charge(-500)
    first.end()
    expect(Array.from({ length: 10 }, () => waitOf(() => users.begin(1)))).toEqual([
      0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
    ])
  })

  it('bounds the calls of a user that are under way', () => {
    const users = new UserAllowances({ rate: { perSecond: 1, burst: 100 }, calls: 2, fileRate })
    const first = users.begin(1)
    users.begin(1)
    expect(() => users.begin(1)).toThrow('too many requests: 2 are under way')
    expect(waitOf(() => users.begin(2))).toBe(0)
    first.end()
    expect(waitOf(() => users.begin(1))).toBe(0)
    expect(waitOf(() => users.begin(1))).toBe(1)
  })

  it('lets a file go into debt for its bytes, which keeps the next files waiting and nothing else', () => {
    const users = new UserAllowances({
      rate: { perSecond: 1, burst: 100 },
      calls: 10,
      fileRate,
    })
    const allowance = users.begin(1)
    expect(waitOf(() => allowance.requireFileBytes())).toBe(0)
    allowance.chargeFileBytes(40_000)
    allowance.chargeFileBytes(20_000)
    expect(waitOf(() => allowance.requireFileBytes())).toBe(11)
    expect(waitOf(() => users.begin(1))).toBe(0)
    expect(waitOf(() => users.begin(2).requireFileBytes())).toBe(0)
    nowMs += 10_000
    expect(waitOf(() => users.begin(1).requireFileBytes())).toBe(1)
    nowMs += 1
    expect(waitOf(() => users.begin(1).requireFileBytes())).toBe(0)
    expect(waitOf(() => users.begin(1).requireFileBytes())).toBe(0)
  })

  it('pays for the parsing of bodies until it is in debt; then a body is refused before it is parsed', () => {
    const users = new UserAllowances({ rate: { perSecond: 1, burst: 100 }, calls: 10, fileRate })
    const [first, second] = [users.begin(1), users.begin(1)]
    expect(waitOf(() => first.chargeBody(108))).toBe(0)
    expect(waitOf(() => second.chargeBody(1))).toBe(10)
    expect(waitOf(() => second.chargeBody(0))).toBe(0)
    nowMs += 10_000
    expect(waitOf(() => second.chargeBody(1))).toBe(0)
  })
})
