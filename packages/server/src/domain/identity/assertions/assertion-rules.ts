import type { JsonObject } from '../../../lib/json.js'
import type { Refusal } from './refusals.js'

/** The rules of an issuer for its assertions. */
export interface AssertionRules {
  readonly algorithms: readonly string[]
  /** Values of typ; [] = absent or JWT. */
  readonly types: readonly string[]
  /** [] = not checked. */
  readonly audience: readonly string[]
  /** In seconds. */
  readonly maxAge: number
  readonly subjectClaim: string
}

/** The proved facts of an assertion. Times in ms. */
export interface Claims {
  readonly subject: string
  readonly issuedAt: number
  readonly expiresAt: number
  /** All members of the payload. */
  readonly payload: JsonObject
}

/** Difference between the clocks of an issuer and of the service, seconds. */
export const tolerance = 60
const maxNameBytes = 255
const controlCharacters = /\p{Cc}/u

/** Returns the refusal of a header; null for none. Keys in a header (jwk, jku, x5u, x5c) are never read. */
export function headerRefusal(
  { alg, typ, kid, ...header }: JsonObject,
  { algorithms, types }: Pick<AssertionRules, 'algorithms' | 'types'>,
): Refusal | null {
  if (typeof alg !== 'string' || !algorithms.includes(alg)) return 'wrong_algorithm'
  if (!isAcceptedType(typ, types)) return 'wrong_type'
  if ('crit' in header || 'b64' in header) return 'critical_header'
  return kid === undefined || isName(kid) ? null : 'invalid_kid'
}

/**
 * Returns the claims of a payload that keeps the rules.
 * @param now ms
 */
export function readClaims(
  payload: JsonObject,
  { audience, maxAge, subjectClaim }: Omit<AssertionRules, 'algorithms' | 'types'>,
  now: number,
): Claims | Refusal {
  if ('events' in payload) return 'logout_token'
  const { exp, iat, nbf = 0 } = payload
  if (!isTime(exp) || !isTime(iat) || !isTime(nbf)) return 'invalid_time'
  const seconds = now / 1000
  if (exp <= seconds - tolerance) return 'expired'
  if (iat > seconds + tolerance) return 'issued_in_future'
  if (nbf > seconds + tolerance) return 'not_yet_valid'
  if (iat < seconds - maxAge - tolerance) return 'too_old'
  const refusal = audience.length === 0 ? null : audienceRefusal(payload, audience)
  if (refusal !== null) return refusal
  const subject = subjectOf(payload[subjectClaim])
  return subject === null
    ? 'invalid_subject'
    : { subject, issuedAt: iat * 1000, expiresAt: exp * 1000, payload }
}

function isAcceptedType(typ: unknown, types: readonly string[]): boolean {
  if (typ === undefined) return types.length === 0
  if (typeof typ !== 'string') return false
  const accepted = types.length === 0 ? ['JWT'] : types
  return accepted.some((type) => mediaType(type) === mediaType(typ))
}

/** Media types ignore case, and typ may leave `application/` out (RFC 7515, section 4.1.9). */
function mediaType(text: string): string {
  return text.toLowerCase().replace(/^application\//, '')
}

function audienceRefusal({ aud, azp }: JsonObject, audience: readonly string[]): Refusal | null {
  const entries: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const isOurs = (value: unknown) => typeof value === 'string' && audience.includes(value)
  const areTexts = entries.every((entry) => typeof entry === 'string')
  if (!areTexts || !entries.some(isOurs)) return 'wrong_audience'
  return entries.length === 1 || isOurs(azp) ? null : 'wrong_party'
}

/** Returns null for a value that names no user. */
function subjectOf(value: unknown): string | null {
  if (typeof value === 'number') return value >= 0 ? String(value) : null
  return isName(value) ? value : null
}

function isName(value: unknown): value is string {
  if (typeof value !== 'string' || value === '') return false
  return Buffer.byteLength(value) <= maxNameBytes && !controlCharacters.test(value)
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0
}
