import { createPrivateKey, type KeyObject } from 'node:crypto'
import { decodeJwt, type JWTPayload, SignJWT } from 'jose'
import { badCertificate } from '../runtime/credentials.js'

interface JwtSigner {
  readonly alg: 'ES256' | 'RS256' | 'PS256'
  readonly keyId: string
  readonly key: KeyObject
}

/** @param claims with all times in seconds */
export function signJwt({ alg, keyId, key }: JwtSigner, claims: JWTPayload): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg, kid: keyId, typ: 'JWT' }).sign(key)
}

/**
 * Reads a private key in PEM.
 * @throws CredentialError when the text is no key, or a key of another type
 */
export function privateKey(pem: string, type: 'ec' | 'rsa'): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === type) return key
  } catch {
    // Handled as a key of another type.
  }
  throw badCertificate(`has no ${type.toUpperCase()} private key that can be read`)
}

/** Returns the time of issue in a token of {@link signJwt}, milliseconds since 1970. */
export function jwtTimeMs(token: string): number {
  const { iat = 0 } = decodeJwt(token)
  return iat * 1000
}
