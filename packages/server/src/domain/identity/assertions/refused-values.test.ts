import { describe, expect, it } from 'vitest'
import { refusedValues } from './refused-values.js'
import type { Refusal } from './refusals.js'

const now = Date.parse('2026-01-02T03:04:05Z')
const rules = {
  algorithms: ['RS256', 'ES256'],
  types: [],
  audience: ['app', 'web'],
  maxAge: 600,
  subjectClaim: 'uid',
}
const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

function values(refusal: Refusal, header: object, payload: object): string {
  return refusedValues(`${part(header)}.${part(payload)}.AA`, refusal, rules, now)
}

describe('the values of a refused assertion', () => {
  it.each<[Refusal, object, object, string]>([
    ['wrong_algorithm', { alg: 'HS256' }, {}, 'alg is "HS256"; accepted: RS256, ES256'],
    ['wrong_audience', {}, { aud: ['x'] }, 'aud is ["x"]; accepted: app, web'],
    [
      'wrong_party',
      {},
      { aud: ['app', 'x'] },
      'azp is absent; aud is ["app","x"]; accepted: app, web',
    ],
    [
      'expired',
      {},
      { exp: 1_767_323_000 },
      'exp is 1767323000 (2026-01-02T03:03:20.000Z); the time is 2026-01-02T03:04:05.000Z, with a tolerance of 60 s',
    ],
    [
      'too_old',
      {},
      { iat: 1_767_320_000 },
      'iat is 1767320000 (2026-01-02T02:13:20.000Z); max_age is 600 s; the time is 2026-01-02T03:04:05.000Z',
    ],
    [
      'issued_in_future',
      {},
      { iat: 9_007_199_254_740_991 },
      expect.stringMatching(/^iat is 9007199254740991 \(no date\); the time is 2026-/),
    ],
    ['invalid_subject', {}, { uid: '', sub: '1' }, 'uid is ""'],
    ['unknown_key', { kid: 'a' }, { kid: 'b' }, 'kid is "a"; alg is absent'],
    ['unknown_key', { kid: 'k'.repeat(500) }, {}, `kid is "${'k'.repeat(199)}…; alg is absent`],
    ['logout_token', {}, { events: {} }, ''],
  ])('%s', (refusal, header, payload, text) => {
    expect(values(refusal, header, payload)).toEqual(text)
  })

  it('are not told of a text that is no assertion, or of an unknown issuer beyond its name', () => {
    expect(refusedValues('a.b', 'not_a_jws', null, now)).toBe('')
    const text = `${part({ alg: 'ES256' })}.${part({ iss: 'other' })}.AA`
    expect(refusedValues(text, 'unknown_issuer', null, now)).toBe('iss is "other"')
  })
})
