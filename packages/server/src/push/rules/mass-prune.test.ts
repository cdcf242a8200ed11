import { describe, expect, it } from 'vitest'
import type { InvalidToken, PushOutcome } from '../sender.js'
import { guardAgainstMassPrune } from './mass-prune.js'

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
    ...new Set(guardAgainstMassPrune(outcomes, { lastAcceptedAt, now }).map(({ kind }) => kind)),
  ]
}

describe('guardAgainstMassPrune', () => {
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
    const busy: PushOutcome = { kind: 'throttled', code: 'x', reason: '', retryAfterMs: null }
    expect(kinds([...many(20, dead), ...many(21, busy)])).toEqual(['invalid_token', 'throttled'])
  })
})
