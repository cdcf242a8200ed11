import { describe, expect, it } from 'vitest'
import type { InvalidToken, PushOutcome } from '../outcomes.js'
import { MassPruneGuard } from './mass-prune.js'

const hourMs = 3_600_000
const now = 100 * hourMs
const accepted: PushOutcome = { kind: 'accepted', messageId: '1' }
const dead: InvalidToken = {
  kind: 'invalid_token',
  code: 'x',
  reason: 'ended',
  since: null,
  isSuspect: false,
}
const suspect = { ...dead, isSuspect: true }
const many = (count: number, outcome: PushOutcome) => Array.from({ length: count }, () => outcome)

function kinds(outcomes: readonly PushOutcome[], lastAcceptedAt: number | null = null) {
  return [
    ...new Set(
      new MassPruneGuard().guard(1, outcomes, { lastAcceptedAt, now }).map(({ kind }) => kind),
    ),
  ]
}

describe('MassPruneGuard', () => {
  it('keeps tokens whose refusal may mean a wrong set-up, when nothing was accepted for a day', () => {
    expect(kinds([suspect])).toEqual(['config'])
    expect(kinds([suspect], now - 24 * hourMs)).toEqual(['config'])
  })

  it('lets them go when the certificate works', () => {
    expect(kinds([suspect], now - 23 * hourMs)).toEqual(['invalid_token'])
    expect(kinds([...many(50, suspect), accepted])).toEqual(['invalid_token', 'accepted'])
  })

  it('keeps a mass of tokens whatever the reason, and lets a few go', () => {
    expect(kinds(many(20, dead))).toEqual(['config'])
    expect(kinds(many(19, dead))).toEqual(['invalid_token'])
    const away: PushOutcome = { kind: 'suppressed', code: 'x', reason: '' }
    expect(kinds([...many(20, dead), ...many(21, away)])).toEqual(['invalid_token', 'suppressed'])
    // Says nothing of any token.
    const busy: PushOutcome = { kind: 'throttled', code: 'x', reason: '', retryAfterMs: null }
    expect(kinds([...many(20, dead), ...many(21, busy)])).toEqual(['config', 'throttled'])
  })

  it('counts over a day of requests, for each certificate alone', () => {
    const guard = new MassPruneGuard()
    const oneOf = (id: number, at = now, outcome: PushOutcome = dead) =>
      guard.guard(id, [outcome], { lastAcceptedAt: null, now: at })[0]?.kind
    const first = Array.from({ length: 25 }, () => oneOf(1))
    expect(first).toEqual([...Array(19).fill('invalid_token'), ...Array(6).fill('config')])
    expect(oneOf(2)).toBe('invalid_token')
    expect(oneOf(1, now + 23 * hourMs)).toBe('config')
    expect(oneOf(1, now + 24 * hourMs)).toBe('invalid_token')
    for (let count = 0; count < 20; count++) oneOf(1, now + 24 * hourMs)
    expect(oneOf(1, now + 24 * hourMs)).toBe('config')
    // A success begins the count anew, also where nobody has noted it yet.
    oneOf(1, now + 25 * hourMs, accepted)
    expect(oneOf(1, now + 25 * hourMs)).toBe('invalid_token')
  })
})
