/** Assertions for tests, made by hand so that any of their parts can be wrong. */
import {
  constants,
  createHmac,
  generateKeyPairSync,
  type JsonWebKey,
  type KeyObject,
  sign,
} from 'node:crypto'

/** Makes the signature of a text. */
export type Signer = (input: string) => Buffer

/** Seconds since 1970 of all assertions. */
export const testSeconds = 1_800_000_000

/** Keys of all kinds, made once. */
export const testKeys = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  otherRsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  weakRsa: generateKeyPairSync('rsa', { modulusLength: 1024 }),
  ec: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  otherEc: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ec384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ed: generateKeyPairSync('ed25519'),
  otherEd: generateKeyPairSync('ed25519'),
}

/** Returns a public JWK with more members. */
export function publicJwk(
  { publicKey }: { readonly publicKey: KeyObject },
  more: Readonly<Record<string, unknown>> = {},
): JsonWebKey {
  return { ...publicKey.export({ format: 'jwk' }), ...more }
}

/** A key pair of {@link testKeys}. */
export interface TestKey {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

/** Signers by the name of their algorithm. */
export const signers = {
  RS256: ({ privateKey: key }: TestKey): Signer => {
    return (input) => sign('sha256', Buffer.from(input), key)
  },
  PS256: ({ privateKey: key }: TestKey): Signer => {
    const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
    return (input) => sign('sha256', Buffer.from(input), { key, ...padding })
  },
  ES256: ({ privateKey: key }: TestKey): Signer => {
    return (input) => sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  },
  EdDSA: ({ privateKey: key }: TestKey): Signer => {
    return (input) => sign(null, Buffer.from(input), key)
  },
}

/** Returns a signer with a shared secret. */
export function hmacSigner(secret: string | Buffer, algorithm = 'sha256'): Signer {
  return (input) => createHmac(algorithm, secret).update(input).digest()
}

/** The secret of the issuer `backend`. */
export const sharedSecret = 'a-secret-of-more-than-thirty-two-bytes'

/** An assertion in its parts: objects, or texts and bytes that are no JSON of any. */
export interface AssertionParts {
  readonly header?: object | string | Buffer
  readonly payload?: object | string | Buffer
  readonly signer?: Signer
  /** Changes the signature. */
  readonly signature?: (signature: Buffer) => Buffer
}

/** The valid claims, to be changed. */
export const validClaims = {
  iss: 'https://issuer.example',
  aud: 'app',
  sub: '4711',
  iat: testSeconds,
  exp: testSeconds + 300,
}

/** The header of assertions that do not name one. */
export const rsaHeader = { alg: 'RS256', kid: 'rsa', typ: 'JWT' }

/** Makes a compact JWS. */
export function buildAssertion({
  header = rsaHeader,
  payload = validClaims,
  signer = signers.RS256(testKeys.rsa),
  signature = (made) => made,
}: AssertionParts = {}): string {
  const input = `${encodePart(header)}.${encodePart(payload)}`
  return `${input}.${signature(signer(input)).toString('base64url')}`
}

/** Returns a part of an assertion as base64url. */
export function encodePart(part: object | string | Buffer): string {
  if (Buffer.isBuffer(part)) return part.toString('base64url')
  return Buffer.from(typeof part === 'string' ? part : JSON.stringify(part)).toString('base64url')
}

/** Returns the JSON of an object with a text in place of its closing brace. */
export function jsonWith(object: object, end: string): string {
  return `${JSON.stringify(object).slice(0, -1)}${end}`
}
