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

/**
 * Returns the keys of a set. A header names its key by kid, else exactly one key must fit. Where no
 * key has a kid, that of the header does not count.
 * @throws Error when it is no set of keys
 */
export function keySetOf(jwks: JSONWebKeySet): KeySet {
  const find = createLocalJWKSet(jwks)
  return jwks.keys.some(({ kid }) => kid !== undefined)
    ? find
    : ({ kid, ...header }, token) => find(header, token)
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
