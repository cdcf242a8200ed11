/** Public keys in the settings of an issuer. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'
import { isJsonObject } from '../../../../lib/json.js'
import { isWeak, minRsaBits } from '../../assertions/signature.js'

/** Keys that can be used, or the reason why not, to follow the name of their field. */
export type InlineKeys = { readonly jwks: JSONWebKeySet } | { readonly fault: string }

const maxKeys = 20
const maxJwksLength = 65_536
/** Members of private and shared keys (RFC 7518, section 6). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
// A body without hyphens: the search from each beginning ends at the next one.
const block = /-----BEGIN ([A-Z0-9 ]+)-----[^-]*-----END \1-----/g
const privateBlock = /-----BEGIN [A-Z0-9 ]*PRIVATE/
const onlyPublic = 'must have public keys only: a private key or a secret stays with the issuer'

/** Reads public keys and certificates. */
export function keysOfPem(pem: string, algorithms: readonly string[]): InlineKeys {
  if (privateBlock.test(pem)) return { fault: onlyPublic }
  const blocks = [...pem.matchAll(block)]
  if (blocks.length === 0) return { fault: 'must have a public key or a certificate in PEM' }
  try {
    const keys = blocks.map(([text]) => createPublicKey(text).export({ format: 'jwk' }))
    return checkedKeys(keys, algorithms)
  } catch {
    return { fault: 'must have public keys or certificates in PEM that can be read' }
  }
}

/** Checks a JWK set. */
export function keysOfJwks(
  jwks: Readonly<Record<string, unknown>>,
  algorithms: readonly string[],
): InlineKeys {
  const { keys } = jwks
  if (JSON.stringify(keys ?? null).length > maxJwksLength)
    return { fault: `must have at most ${maxJwksLength} characters of keys` }
  return Array.isArray(keys) && keys.every(isJsonObject)
    ? checkedKeys(keys, algorithms)
    : { fault: 'must be a JWK set: an object with a list of objects as keys' }
}

function checkedKeys(keys: readonly JsonWebKey[], algorithms: readonly string[]): InlineKeys {
  if (keys.length === 0 || keys.length > maxKeys) return { fault: `must have 1 to ${maxKeys} keys` }
  if (keys.some((key) => privateMembers.some((name) => Object.hasOwn(key, name))))
    return { fault: onlyPublic }
  const read = keys.map(readKey)
  if (read.includes(null)) return { fault: 'must have keys that can be read' }
  if (read.some((key) => key !== null && isWeak(key)))
    return {
      fault: `must have RSA keys of at least ${minRsaBits} bits, with an odd exponent from 3`,
    }
  const names = keys.map((key) =>
    algorithmsOf(key)
      .filter((each) => algorithms.includes(each))
      .map((each) => JSON.stringify([each, key.kid])),
  )
  if (names.flat().length === 0) return { fault: `must have a key for ${algorithms.join(', ')}` }
  return new Set(names.flat()).size < names.flat().length
    ? { fault: 'must have a different kid for each key of an algorithm, which jwks can give' }
    : { jwks: { keys: keys as JSONWebKeySet['keys'] } }
}

/** Returns the algorithms that a key verifies, by its type and its own restrictions. */
function algorithmsOf(key: JsonWebKey): readonly string[] {
  const { use = 'sig', key_ops: operations = ['verify'], alg } = key
  const verifies = use === 'sig' && Array.isArray(operations) && operations.includes('verify')
  return verifies ? typeAlgorithms(key).filter((each) => each === (alg ?? each)) : []
}

function typeAlgorithms(key: JsonWebKey): readonly string[] {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = readKey(key) ?? {}
  if (type === 'rsa') return ['RS256', 'PS256']
  if (type === 'ed25519') return ['EdDSA']
  return details?.namedCurve === 'prime256v1' ? ['ES256'] : []
}

function readKey(key: JsonWebKey): KeyObject | null {
  if (key.kid !== undefined && typeof key.kid !== 'string') return null
  try {
    return createPublicKey({ key, format: 'jwk' })
  } catch {
    return null
  }
}
