import { createPrivateKey, type KeyObject } from 'node:crypto'
import { type JWTPayload, SignJWT } from 'jose'
import { CredentialError } from '../runtime/protocol.js'

export interface JwtSigner {
  readonly alg: 'ES256' | 'RS256' | 'PS256'
  readonly keyId: string
  readonly key: KeyObject
}

/** @param claims with every time in seconds */
export function signJwt({ alg, keyId, key }: JwtSigner, claims: JWTPayload): Promise<string> {
  return new SignJWT(claims).setProtectedHeader({ alg, kid: keyId, typ: 'JWT' }).sign(key)
}

/**
 * A private key in PEM.
 * @throws CredentialError when it is none, or of another type
 */
export function privateKey(pem: string, type: 'ec' | 'rsa'): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === type) return key
  } catch {
    // The same as a key of another type.
  }
  throw new CredentialError(`the private key of the certificate is no ${type.toUpperCase()} key`)
}
