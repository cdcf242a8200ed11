import { expect, it } from 'vitest'
import type { PushOutcome } from '../../../push/outcomes.js'
import { checkOf } from './certificate-check.js'

const said = { code: '17', reason: 'so it is' }
const token = { kind: 'invalid_token', ...said, since: null } as const
const outcomes: readonly [PushOutcome, isOk: boolean, words: RegExp][] = [
  [{ kind: 'accepted', messageId: '1' }, true, /^the gateway takes the credentials$/],
  [
    { ...token, isSuspect: false, alarm: { kind: 'receipts_refused', code: '65038' } },
    true,
    /^the gateway takes the credentials; it refuses the address for receipts \(65038\), /,
  ],
  [{ ...token, isSuspect: false }, true, /^the gateway takes the credentials$/],
  [{ ...token, isSuspect: true }, true, /shows with the first device only$/],
  [
    { ...token, isSuspect: true, isOfRequest: true },
    false,
    /refuses the topic of the app: so it is/,
  ],
  [{ kind: 'suppressed', ...said }, true, /^the gateway takes the credentials$/],
  [
    { kind: 'quota', ...said, scope: 'certificate', endsAt: 1 },
    true,
    /its quota of the day is used up: so it is \(17\)$/,
  ],
  [{ kind: 'payload', ...said }, true, /refuses the message of the check: so it is \(17\)$/],
  [{ kind: 'payload', ...said, code: 'http_404' }, false, /is send_url right\? so it is/],
  [{ kind: 'auth_expired', ...said }, false, /refuses the credentials or the set-up: so it is/],
  [{ kind: 'config', ...said }, false, /refuses the credentials or the set-up: so it is/],
  [{ kind: 'throttled', ...said, retryAfterMs: null }, false, /asks to slow down; .* so it is/],
  [{ kind: 'server_error', ...said, retryAfterMs: null }, false, /fails; .* so it is/],
  [{ kind: 'network', ...said, mayBeDelivered: false }, false, /cannot be reached: so it is/],
]

it.each(outcomes)('what %j says of credentials', (outcome, isOk, words) => {
  const code = outcome.kind === 'accepted' ? '' : outcome.code
  expect(checkOf(outcome)).toEqual({ isOk, code, words: expect.stringMatching(words) })
})
