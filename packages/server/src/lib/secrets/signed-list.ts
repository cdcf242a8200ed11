import { equalSecrets, macOf } from './tokens.js'

/** A text or a number that is exact as one. */
export type SignedValue = string | number

const macLength = 43

/**
 * A text that says a few values and that nobody without the key can make: letters, digits, `-` and `_` alone, so that it fits into an address.
 * It is the base64url form of a JSON list, and behind it the HMAC-SHA-256 of that.
 */
export function signedList(key: Buffer, values: readonly SignedValue[]): string {
  const payload = Buffer.from(JSON.stringify(values)).toString('base64url')
  return payload + macOf(key, payload)
}

/** @returns what {@link signedList} was given under one of these keys; null when it is no such text */
export function readSignedList(keys: readonly Buffer[], text: string): SignedValue[] | null {
  if (!/^[\w-]+$/.test(text) || text.length <= macLength) return null
  const payload = text.slice(0, -macLength)
  const mac = text.slice(-macLength)
  if (!keys.some((key) => equalSecrets(mac, macOf(key, payload)))) return null
  return JSON.parse(Buffer.from(payload, 'base64url').toString())
}

/** @returns what a text of {@link signedList} says, no matter who made it; null when it says nothing */
export function claimedList(text: string): unknown[] | null {
  try {
    const values: unknown = JSON.parse(
      Buffer.from(text.slice(0, -macLength), 'base64url').toString(),
    )
    return Array.isArray(values) ? values : null
  } catch {
    return null
  }
}
