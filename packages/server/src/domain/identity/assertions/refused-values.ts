import { readAssertion } from './assertion.js'
import { type AssertionRules, tolerance } from './assertion-rules.js'
import type { Refusal } from './refusals.js'

/** The members of header and payload that a refusal is about. */
const members: Partial<Record<Refusal, readonly string[]>> = {
  wrong_type: ['typ'],
  invalid_kid: ['kid'],
  unknown_issuer: ['iss'],
  wrong_algorithm: ['alg'],
  invalid_time: ['exp', 'iat', 'nbf'],
  expired: ['exp'],
  issued_in_future: ['iat'],
  not_yet_valid: ['nbf'],
  too_old: ['iat'],
  wrong_audience: ['aud'],
  wrong_party: ['azp', 'aud'],
  unknown_key: ['kid', 'alg'],
  ambiguous_key: ['kid', 'alg'],
  wrong_signature: ['kid', 'alg'],
}
const headerMembers = ['typ', 'kid', 'alg']
const timeMembers = ['exp', 'iat', 'nbf']
const maxShown = 200

/**
 * Tells what a refused assertion has, and what its issuer accepts, for operators.
 * @param rules null: the assertion names no issuer of the application
 * @param now ms
 * @returns '' for a refusal that is about no member
 */
export function refusedValues(
  text: string,
  refusal: Refusal,
  rules: AssertionRules | null,
  now: number,
): string {
  const assertion = readAssertion(text)
  if (typeof assertion === 'string') return ''
  const { header, payload } = assertion
  const names = refusal === 'invalid_subject' && rules ? [rules.subjectClaim] : members[refusal]
  const found = (names ?? []).map((name) => {
    const value = (headerMembers.includes(name) ? header : payload)[name]
    return `${name} is ${shown(name, value)}`
  })
  return [...found, ...expected(refusal, rules, now)].join('; ')
}

function expected(refusal: Refusal, rules: AssertionRules | null, now: number): string[] {
  if (refusal === 'wrong_algorithm' && rules) return [`accepted: ${rules.algorithms.join(', ')}`]
  if (refusal === 'wrong_type' && rules?.types.length)
    return [`accepted: ${rules.types.join(', ')}`]
  if (refusal === 'wrong_audience' || refusal === 'wrong_party')
    return rules ? [`accepted: ${rules.audience.join(', ')}`] : []
  if (refusal === 'too_old' && rules)
    return [`max_age is ${rules.maxAge} s`, `the time is ${instant(now)}`]
  return ['expired', 'issued_in_future', 'not_yet_valid'].includes(refusal)
    ? [`the time is ${instant(now)}, with a tolerance of ${tolerance} s`]
    : []
}

function shown(name: string, value: unknown): string {
  if (value === undefined) return 'absent'
  const text = JSON.stringify(value)
  if (text.length > maxShown) return `${text.slice(0, maxShown)}…`
  return timeMembers.includes(name) && typeof value === 'number'
    ? `${text} (${instant(value * 1_000)})`
    : text
}

/** A claimed time may be beyond those that have a date. */
function instant(ms: number): string {
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? 'no date' : date.toISOString()
}
