import { describe, expect, it } from 'vitest'
import { newHealth } from '../../domain/webhooks/endpoints/endpoint-model.js'
import type { SendResult } from '../../domain/webhooks/webhook-sender.js'
import { afterRequest, isDown, requestBounds, startingHealth } from './endpoint-health.js'

const second = 1_000
const day = 24 * 60 * 60 * second

type Verdict = ReturnType<typeof afterRequest>['verdict']

interface Request {
  readonly outcome: SendResult['outcome']
  readonly key?: string
  readonly active?: number
  readonly now?: number
  readonly retryAfterMs?: number
}

/** Returns the stored health after requests, and the verdict on each. */
function after(...requests: readonly Request[]) {
  let state = startingHealth(newHealth)
  const verdicts: Verdict[] = []
  for (const { outcome, key = 'a', active = 5, now = 1_000, retryAfterMs = null } of requests) {
    const result = { outcome, retryAfterMs }
    const next = afterRequest(state, { result, key, active, now, random: () => 0 })
    state = next.state
    verdicts.push(next.verdict)
  }
  return { ...state.stored, verdicts }
}

const failed = (key: string, request: Partial<Request> = {}): Request => ({
  outcome: 'unavailable',
  key,
  ...request,
})

describe('health of an endpoint', () => {
  it('is down when requests of three keys fail in a row', () => {
    const health = after(failed('a'), failed('a'), failed('b'), failed('c'))
    expect(health.verdicts).toEqual(['up', 'up', 'up', 'down'])
    expect(health).toMatchObject({ failures: 1, retryAt: 1_000 + 5 * second })
    expect(isDown(health, health.retryAt - 1)).toBe(true)
    expect(isDown(health, health.retryAt)).toBe(false)
  })

  it('is down when the only active key fails', () => {
    expect(after(failed('a', { active: 1 })).verdicts).toEqual(['down'])
  })

  it('an answer, also a refusal, begins the row of failing keys anew', () => {
    for (const outcome of ['delivered', 'refused'] as const) {
      const health = after(failed('a'), failed('b'), { outcome }, failed('c'))
      expect(health).toMatchObject({ verdicts: ['up', 'up', 'up', 'up'], failures: 0 })
    }
  })

  it('the pause grows with each back-off, and failures during one change nothing', () => {
    const down = failed('a', { active: 1 })
    const health = after(down, down, { ...down, now: 6_000 })
    expect(health.verdicts).toEqual(['down', 'down', 'down'])
    expect(health).toMatchObject({ failures: 2, retryAt: 6_000 + 300_000 })
  })

  it('probes with three requests of one event, and comes back with the first answer', () => {
    const options = { concurrency: 16, batchSize: 10 }
    const down = after(failed('a', { active: 1 }))
    expect(requestBounds(down, options)).toEqual({ requests: 3, events: 1 })
    const up = after(failed('a', { active: 1 }), { outcome: 'delivered', now: 6_000 })
    expect(requestBounds(up, options)).toEqual({ requests: 16, events: 10 })
    expect(up).toMatchObject({ ...newHealth, lastSuccessAt: 6_000 })
  })

  it('Retry-After of three keys: its pause, twice as long when it is stated again', () => {
    const all = (now: number) =>
      ['a', 'b', 'c'].map((key) => failed(key, { retryAfterMs: 42_000, now }))
    expect(after(...all(1_000))).toMatchObject({ failures: 1, retryAt: 43_000 })
    const again = after(...all(1_000), ...all(43_000))
    expect(again).toMatchObject({ failures: 1, retryAt: 43_000 + 84_000 })
  })

  it('is disabled by 410, and after three days of failures without a quiet day', () => {
    expect(after({ outcome: 'gone' }).verdicts).toEqual(['gone'])
    const failures = (...days: readonly number[]) =>
      after(...days.map((each) => failed('a', { now: 1 + each * day }))).verdicts.at(-1)
    expect(failures(0, 1, 2, 3)).toBe('failing')
    expect(failures(0, 1, 2.1, 3.1)).toBe('up')
  })
})
