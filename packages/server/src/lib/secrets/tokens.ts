import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** Prefixes of tokens, by which secret scanners and the server tell their kinds apart. */
export type TokenPrefix = 'hma_' | 'hmo_' | 'hmu_' | 'hmp_'

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const secretLength = 43 // 256 bits

/**
 * Creates a secret of letters and digits with a prefix that secret scanners recognise (rule C6).
 */
export function createToken(prefix: TokenPrefix): string {
  let secret = ''
  while (secret.length < secretLength) {
    // Bytes from 248 on would favour the first letters.
    for (const byte of randomBytes(secretLength))
      if (byte < 248 && secret.length < secretLength) secret += alphabet[byte % 62]
  }
  return prefix + secret
}

/** The stored form of a token. Tokens are long and random, so a plain hash cannot be reversed. */
export function hashToken(token: string): string {
  return hash('sha256', token, 'base64url')
}

/** HMAC-SHA-256 of a text, as 43 characters of base64url; only the key can make it. */
export function macOf(key: Buffer | string, text: string): string {
  return createHmac('sha256', key).update(text).digest('base64url')
}

/** Compares in constant time, which does not reveal where two texts differ. */
export function equalSecrets(a: string, b: string): boolean {
  const left = Buffer.from(hashToken(a))
  const right = Buffer.from(hashToken(b))
  return timingSafeEqual(left, right)
}
