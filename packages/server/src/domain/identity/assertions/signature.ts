import { KeyObject } from 'node:crypto'
import {
  type CompactVerifyGetKey,
  compactVerify,
  createLocalJWKSet,
  errors,
  type JSONWebKeySet,
} from 'jose'
import type { Refusal } from './refusals.js'

/** Finds the key of a header among those of an issuer. */
export type KeySet = CompactVerifyGetKey

export const minRsaBits = 2048
const minExponent = 3n

/**
 * Returns the keys of a set. A header names its key by kid, else exactly one key must fit. Where no
 * key has a kid, that of the header does not count.
 * @throws Error when it is no set of keys
 */
export function keySetOf(jwks: JSONWebKeySet): KeySet {
  const find = createLocalJWKSet(jwks)
  const isNamed = jwks.keys.some(({ kid }) => kid !== undefined)
  return async (header, token) => {
    const { kid, ...nameless } = header
    const key = await find(isNamed ? header : nameless, token)
    if (isWeak(KeyObject.from(key))) throw new errors.JWKInvalid('the key is weak')
    return key
  }
}

/** Tests for an RSA key that is short, or whose exponent lets signatures be forged or is no RSA. */
export function isWeak({ asymmetricKeyDetails: details = {} }: KeyObject): boolean {
  const { modulusLength = minRsaBits, publicExponent = minExponent } = details
  return modulusLength < minRsaBits || publicExponent < minExponent || publicExponent % 2n === 0n
}

/**
 * Checks a signature by a key of a set.
 * @param text of a read assertion
 */
export async function signatureRefusal(
  text: string,
  keys: KeySet,
  algorithms: readonly string[],
): Promise<Refusal | null> {
  try {
    await compactVerify(text, keys, { algorithms: [...algorithms] })
    return null
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'wrong_signature'
    if (error instanceof errors.JWKSNoMatchingKey) return 'unknown_key'
    if (error instanceof errors.JWKSMultipleMatchingKeys) return 'ambiguous_key'
    return 'unusable_key'
  }
}

/** Checks a signature by shared secrets, of which one must fit. */
export async function hmacRefusal(
  text: string,
  secrets: readonly string[],
): Promise<Refusal | null> {
  for (const secret of secrets) {
    const keys: KeySet = () => new TextEncoder().encode(secret)
    if ((await signatureRefusal(text, keys, ['HS256'])) === null) return null
  }
  return 'wrong_signature'
}
