import { describe, expect, it } from 'vitest'
import type { PushOutcome, QuotaScope } from '../outcomes.js'
import {
  type RetryInputs,
  certificatePauses,
  devicePauseEnd,
  isStillHeldBack,
  nextTryAt,
  noTries,
  triesAfter,
} from './retry.js'

const hourMs = 3_600_000
const reason = { code: 'x', reason: 'x' }
const throttled: PushOutcome = { ...reason, kind: 'throttled', retryAfterMs: null }
const failed: PushOutcome = { ...reason, kind: 'server_error', retryAfterMs: null }
const heldBack: PushOutcome = { ...reason, kind: 'held_back', retryAfterMs: 5_000 }
const cut: PushOutcome = { ...reason, kind: 'network', mayBeDelivered: true }

/** After so many of the same in a row. */
function delays(outcome: PushOutcome, changes: Partial<RetryInputs> = {}): (number | null)[] {
  return [1, 2, 3, 4, 5, 12].map((times) =>
    nextTryAt(outcome, {
      channel: 'vendor_h',
      tries: Array(times).fill(outcome).reduce(triesAfter, noTries),
      now: 0,
      expiresAt: hourMs,
      random: 1,
      ...changes,
    }),
  )
}

describe('nextTryAt', () => {
  it('doubles the time after failures, five tries at most', () => {
    const expected = [1_000, 2_000, 4_000, 8_000, null, null]
    expect(delays(failed)).toEqual(expected)
    expect(delays(cut)).toEqual(expected)
  })

  it('waits a random part of it', () => {
    expect(delays(failed, { random: 0.25 }).slice(0, 3)).toEqual([250, 500, 1_000])
  })

  it('tries for as long as it is throttled, up to five minutes apart', () => {
    expect(delays(throttled)).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 300_000])
    expect(delays(throttled, { channel: 'cloud_gw' })).toEqual([
      60_000, 120_000, 240_000, 300_000, 300_000, 300_000,
    ])
  })

  it('is not asked for what was held back before the gateway may be, and not for all of it at once', () => {
    expect(delays(heldBack, { random: 0 })).toEqual(Array(6).fill(5_000))
    expect(delays(heldBack)).toEqual(Array(6).fill(6_250))
  })

  it('is asked again once the set-up may be mended', () => {
    const refused: PushOutcome = { ...reason, kind: 'config', retryAfterMs: 300_000 }
    expect(delays(refused, { random: 0 })).toEqual(Array(6).fill(300_000))
  })

  it('is asked at its turn for what the rate has room for then', () => {
    const atItsTurn: PushOutcome = { ...heldBack, hasTurn: true }
    expect(delays(atItsTurn).slice(0, 3)).toEqual([5_000, 5_000, 5_000])
  })

  it('counts failures alone as failures, and begins each wait anew for them', () => {
    const outcomes = [throttled, heldBack, failed, throttled, cut, heldBack, heldBack]
    expect(outcomes.reduce(triesAfter, noTries)).toEqual({ failures: 2, waits: 5 })
    const refused: PushOutcome = { ...reason, kind: 'config' }
    expect(triesAfter(noTries, refused)).toEqual(noTries)
    expect(triesAfter(noTries, { ...refused, retryAfterMs: 1 })).toEqual({ failures: 0, waits: 1 })
    const attempt = { channel: 'vendor_h', now: 0, expiresAt: hourMs, random: 1 } as const
    const tries = { failures: 1, waits: 20 }
    expect(nextTryAt(failed, { ...attempt, tries })).toBe(1_000)
    expect(nextTryAt(throttled, { ...attempt, tries: { failures: 4, waits: 1 } })).toBe(1_000)
  })

  it('does what the gateway asks for', () => {
    expect(delays({ ...throttled, retryAfterMs: 42_000 })[0]).toBe(42_000)
    expect(delays({ ...failed, retryAfterMs: 42_000 })[0]).toBe(42_000)
  })

  it('leaves more and more time also to a gateway that asks for none', () => {
    expect(delays({ ...throttled, retryAfterMs: 0 })).toEqual(delays(throttled))
    expect(delays({ ...failed, retryAfterMs: 0 })).toEqual(delays(failed))
  })

  it('never tries when the notification has expired', () => {
    expect(delays(failed, { expiresAt: 4_000 })).toEqual([1_000, 2_000, null, null, null, null])
  })

  it('lets what was put off wait to its end', () => {
    const [early, late] = [1_000, 4_000]
    expect(delays(throttled, { expiresAt: 4_000 }).slice(0, 3)).toEqual([early, 2_000, late])
    expect(delays(heldBack, { expiresAt: 4_000 })).toEqual(Array(6).fill(late))
  })

  it('does not repeat what would end the same', () => {
    const ends: PushOutcome[] = [
      { kind: 'accepted', messageId: '1' },
      { ...reason, kind: 'invalid_token', since: null, isSuspect: false },
      { ...cut, isUnrepeatable: true },
      { ...reason, kind: 'payload' },
      { ...reason, kind: 'config' },
      { ...reason, kind: 'suppressed' },
      { ...reason, kind: 'quota', scope: 'system', endsAt: 1000 },
    ]
    expect(ends.map((outcome) => delays(outcome)[0])).toEqual(ends.map(() => null))
  })
})

describe('pauses', () => {
  const quota = (scope: QuotaScope, endsAt: number): PushOutcome => ({
    ...reason,
    kind: 'quota',
    scope,
    endsAt,
  })

  it('of a device last until its quota begins again, or for a day', () => {
    expect(devicePauseEnd(quota('device', 77), 5)).toBe(77)
    expect(devicePauseEnd({ ...reason, kind: 'suppressed' }, 5)).toBe(24 * hourMs + 5)
    expect([quota('list', 77), quota('system', 77), throttled].map(end)).toEqual([null, null, null])
  })

  it('of a certificate are those of no device and no list, each with its latest end', () => {
    const outcomes = [
      quota('public', 7),
      quota('device', 9),
      quota('list', 9),
      quota('public', 8),
      quota('system', 3),
    ]
    expect(certificatePauses([...outcomes, throttled], {})).toEqual({ public: 8, system: 3 })
    expect(certificatePauses(outcomes, { public: 8, system: 2 })).toEqual({ system: 3 })
  })
})

describe('isStillHeldBack', () => {
  it('is what was put off before and is held back once more', () => {
    const waiting = { failures: 0, waits: 1 }
    expect(isStillHeldBack(noTries, heldBack)).toBe(false)
    expect(isStillHeldBack(waiting, heldBack)).toBe(true)
    expect(isStillHeldBack(waiting, throttled)).toBe(false)
  })
})

function end(outcome: PushOutcome): number | null {
  return devicePauseEnd(outcome, 5)
}
