/** Verifies JSON Web Tokens, independently of the code that signs them. */
import { constants, type KeyObject, verify } from 'node:crypto'

export type JwtAlgorithm = 'ES256' | 'RS256' | 'PS256'

export interface Jwt {
  readonly header: Readonly<Record<string, unknown>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** @returns null when it is not a JWT of that algorithm and key */
export function verifyJwt(token: string, alg: JwtAlgorithm, key: KeyObject): Jwt | null {
  const [head = '', body = '', signature = '', ...more] = token.split('.')
  const header = decodeJwtPart(head)
  const claims = decodeJwtPart(body)
  if (header === null || claims === null || more.length > 0 || header.alg !== alg) return null
  const signed = Buffer.from(`${head}.${body}`)
  const isGenuine = verify(
    'sha256',
    signed,
    verifyKey(alg, key),
    Buffer.from(signature, 'base64url'),
  )
  return isGenuine ? { header, claims } : null
}

function verifyKey(alg: JwtAlgorithm, key: KeyObject) {
  if (alg === 'ES256') return { key, dsaEncoding: 'ieee-p1363' as const }
  if (alg === 'RS256') return { key }
  return {
    key,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  }
}

function decodeJwtPart(part: string): Record<string, unknown> | null {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString())
  } catch {
    return null
  }
}
