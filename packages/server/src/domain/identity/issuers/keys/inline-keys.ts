/** Public keys in the settings of an issuer. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import type { JSONWebKeySet } from 'jose'
import { isJsonObject } from '../../../../lib/json.js'

/** Keys that can be used, or the reason why not, to follow the name of their field. */
export type InlineKeys = { readonly jwks: JSONWebKeySet } | { readonly fault: string }

const maxKeys = 20
const minRsaBits = 2048
/** Members of private and shared keys (RFC 7518, section 6). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']
const block = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g
const onlyPublic = 'must have public keys only: a private key or a secret stays with the issuer'

/** Reads public keys and certificates. */
export function keysOfPem(pem: string, algorithms: readonly string[]): InlineKeys {
  const blocks = [...pem.matchAll(block)]
  if (blocks.some(([, label = '']) => label.includes('PRIVATE'))) return { fault: onlyPublic }
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
  return Array.isArray(keys) && keys.every(isJsonObject)
    ? checkedKeys(keys, algorithms)
    : { fault: 'must be a JWK set: an object with a list of objects as keys' }
}

function checkedKeys(keys: readonly JsonWebKey[], algorithms: readonly string[]): InlineKeys {
  if (keys.length === 0 || keys.length > maxKeys) return { fault: `must have 1 to ${maxKeys} keys` }
  if (keys.some((key) => privateMembers.some((name) => Object.hasOwn(key, name))))
    return { fault: onlyPublic }
  const fitting = keys.map((key) => algorithmsOf(key))
  if (fitting.some((each) => each === null)) return { fault: 'must have keys that can be read' }
  if (keys.some(isWeak)) return { fault: `must have RSA keys of at least ${minRsaBits} bits` }
  return fitting.flat().some((each) => each !== null && algorithms.includes(each))
    ? { jwks: { keys: keys as JSONWebKeySet['keys'] } }
    : { fault: `must have a key for ${algorithms.join(', ')}` }
}

/** Returns null for a key that cannot be read. */
function algorithmsOf(key: JsonWebKey): readonly string[] | null {
  const read = readKey(key)
  if (read === null) return null
  if (read.asymmetricKeyType === 'rsa') return ['RS256', 'PS256']
  if (read.asymmetricKeyType === 'ed25519') return ['EdDSA']
  return read.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? ['ES256'] : []
}

function isWeak(key: JsonWebKey): boolean {
  const { modulusLength = minRsaBits } = readKey(key)?.asymmetricKeyDetails ?? {}
  return modulusLength < minRsaBits
}

function readKey(key: JsonWebKey): KeyObject | null {
  try {
    return createPublicKey({ key, format: 'jwk' })
  } catch {
    return null
  }
}
