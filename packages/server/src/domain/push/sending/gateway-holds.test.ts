import { expect, test } from 'vitest'
import type { PushOutcome } from '../../../push/outcomes.js'
import { GatewayHolds } from './gateway-holds.js'

const reason = { code: 'x', reason: '' }
const accepted: PushOutcome = { kind: 'accepted', messageId: '1' }
const network: PushOutcome = { kind: 'network', ...reason, mayBeDelivered: false }
const held = (retryAfterMs: number, hasTurn = false): PushOutcome => ({
  kind: 'held_back',
  ...reason,
  retryAfterMs,
  hasTurn,
})

/** Two certificates of an application, and a clock that the test moves. */
function make() {
  const state = { now: 1_000 }
  const holds = new GatewayHolds({ now: () => state.now })
  const note = (...outcomes: PushOutcome[]) => holds.note('app', 7, outcomes)
  return { state, holds, note }
}

test('GatewayHolds: a certificate is held back until the latest end that its outcomes report', () => {
  const { holds, note } = make()
  expect(holds.list('app')).toEqual([])
  note(network, held(15_000), held(20_000))
  expect(holds.list('app')).toEqual([[7, 21_000]])
  expect(holds.list('other')).toEqual([])
})

test.each<[string, PushOutcome, number | null]>([
  ['a gateway that is spared', held(5_000), 6_000],
  ['a push that has its turn at the rate', held(5_000, true), null],
  ['a refused set-up', { kind: 'config', ...reason, retryAfterMs: 5_000 }, 6_000],
  ['a refusal that ends the push', { kind: 'config', ...reason }, null],
  [
    'a refusal of one device',
    { kind: 'config', ...reason, retryAfterMs: 5_000, isOfPush: true },
    null,
  ],
  [
    'a used-up certificate',
    { kind: 'quota', ...reason, scope: 'certificate', endsAt: 9_000 },
    9_000,
  ],
  ['a used-up device', { kind: 'quota', ...reason, scope: 'device', endsAt: 9_000 }, null],
  ['a failure', network, null],
])('GatewayHolds: %s', (_, outcome, until) => {
  const { holds, note } = make()
  note(outcome)
  expect(holds.list('app')).toEqual(until === null ? [] : [[7, until]])
})

test('GatewayHolds: after its end a hold lasts a second at a time until the gateway answers', () => {
  const { state, holds, note } = make()
  note(held(5_000))
  state.now = 10_000
  expect(holds.list('app')).toEqual([[7, 11_000]])
  note(network)
  expect(holds.list('app')).toEqual([[7, 11_000]])
  note(accepted)
  expect(holds.list('app')).toEqual([])
})
