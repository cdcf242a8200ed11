import { describe, expect, it } from 'vitest'
import { nextTimeOfDay, quotaEnd } from '../../../lib/china-time.js'
import type { GatewayAnswer } from '../runtime/transport.js'
import { codeTable, refusalByCode, withoutTokens } from './answers.js'

const receivedAt = Date.UTC(2026, 0, 2, 3, 4, 5)

function answer(changes: Partial<GatewayAnswer> = {}): GatewayAnswer {
  return { status: 200, headers: {}, body: '', receivedAt, ...changes }
}

const table = codeTable({
  throttled: ['busy'],
  certificate_quota: [7],
  device_quota: [8],
  clock: [[20, 22]],
  suspect_token: ['wrong'],
})

describe('refusalByCode', () => {
  it('knows every code of a range, both ends included', () => {
    const kinds = ['19', '20', '21', '22', '23'].map(
      (code) => refusalByCode(table, { code, reason: '' }, answer()).kind,
    )
    expect(kinds).toEqual(['server_error', 'config', 'config', 'config', 'server_error'])
  })

  it('goes by the status where the code is not known', () => {
    const kinds = [400, 401, 403, 404, 413, 429, 500, 502, 503, 504, 418].map(
      (status) => refusalByCode(table, { code: 'x', reason: '' }, answer({ status })).kind,
    )
    expect(kinds).toEqual([
      'payload',
      'auth_expired',
      'config',
      'config',
      'payload',
      'throttled',
      'server_error',
      'server_error',
      'throttled',
      'server_error',
      'server_error',
    ])
  })

  it('takes Retry-After in seconds and as a date', () => {
    const after = (text: string) =>
      refusalByCode(
        table,
        { code: 'busy', reason: '' },
        answer({ headers: { 'retry-after': text } }),
      )
    expect(after('120')).toMatchObject({ kind: 'throttled', retryAfterMs: 120_000 })
    expect(after('Fri, 02 Jan 2026 03:05:05 GMT')).toMatchObject({ retryAfterMs: 60_000 })
    expect(after('Fri, 02 Jan 2026 03:00:00 GMT')).toMatchObject({ retryAfterMs: 0 })
    expect(after('soon')).toMatchObject({ retryAfterMs: null })
  })

  it('tells how far the clock is from the one of the gateway', () => {
    const headers = { date: 'Fri, 02 Jan 2026 02:54:05 GMT' }
    expect(refusalByCode(table, { code: '20', reason: 'old' }, answer({ headers }))).toEqual({
      kind: 'config',
      code: '20',
      reason: "old; the clock of this machine is 600 s from the gateway's",
      alarm: { kind: 'clock', skewSeconds: 600 },
    })
  })

  it('marks tokens that a wrong set-up may be the reason for', () => {
    expect(refusalByCode(table, { code: 'wrong', reason: 'no' }, answer())).toEqual({
      kind: 'invalid_token',
      code: 'wrong',
      reason: 'no',
      since: null,
      isSuspect: true,
    })
  })

  it('ends quotas at the next midnight in China', () => {
    expect(refusalByCode(table, { code: '7', reason: '' }, answer())).toMatchObject({
      kind: 'quota',
      scope: 'certificate',
      endsAt: Date.UTC(2026, 0, 2, 16),
    })
    expect(refusalByCode(table, { code: '8', reason: '' }, answer())).toMatchObject({
      kind: 'quota',
      scope: 'device',
    })
  })
})

describe('times of day in China', () => {
  it('are always ahead', () => {
    expect(quotaEnd(Date.UTC(2026, 0, 1, 15, 59, 59, 999))).toBe(Date.UTC(2026, 0, 1, 16))
    expect(quotaEnd(Date.UTC(2026, 0, 1, 16))).toBe(Date.UTC(2026, 0, 2, 16))
    expect(nextTimeOfDay(Date.UTC(2026, 0, 1, 15), 7)).toBe(Date.UTC(2026, 0, 1, 23))
    expect(nextTimeOfDay(Date.UTC(2026, 0, 1, 23), 7)).toBe(Date.UTC(2026, 0, 2, 23))
  })
})

describe('codeTable', () => {
  it('refuses a code of two classes', () => {
    expect(() => codeTable({ config: [1, 2], payload: [[2, 4]] })).toThrow('code 2 twice')
  })
})

describe('withoutTokens', () => {
  const targets = ['token-of-alice', 'token-of-bob', 'in'].map((token) => ({
    token,
    badgeCount: null,
  }))
  const refused = (reason: string) => ({ kind: 'payload' as const, code: '41', reason })

  it('takes all tokens of a request out of the words of the gateway', () => {
    const reason = 'invalid ids: token-of-alice,token-of-bob; again token-of-alice'
    const [outcome] = withoutTokens([refused(reason)], targets)
    expect(outcome).toEqual(refused('invalid ids: …,…; again …'))
  })

  it('keeps what devices share, and words without a token', () => {
    const shared = refused('token-of-bob is wrong')
    const plain = refused('invalid id')
    const [first, second, third] = withoutTokens([shared, shared, plain], targets)
    expect(second).toBe(first)
    expect(third).toBe(plain)
  })
})
