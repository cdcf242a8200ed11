import { equalSecrets, macOf } from './tokens.js'

/** A text, or a number that JSON keeps exactly. */
export type SignedValue = string | number

const macLength = 43

/**
 * A list of values as a text that only the key can make. It has letters, digits, `-` and `_` only,
 * so that it fits into a URL: the base64url form of a JSON list, followed by its HMAC-SHA-256.
 */
export function signedList(key: Buffer, values: readonly SignedValue[]): string {
  return signedPayload(key, Buffer.from(JSON.stringify(values)).toString('base64url'))
}

/** Signs the values of a text of {@link signedList} again. @param payload as {@link payloadOf} returns it */
export function signedPayload(key: Buffer, payload: string): string {
  return payload + macOf(key, payload)
}

/** Returns the values in a text of {@link signedList} without their signature, in the form of the text. */
export function payloadOf(text: string): string {
  return text.slice(0, -macLength)
}

/**
 * @returns the values that {@link signedList} signed with one of these keys; null for any other
 * text
 */
export function readSignedList(keys: readonly Buffer[], text: string): SignedValue[] | null {
  if (!/^[\w-]+$/.test(text) || text.length <= macLength) return null
  const payload = payloadOf(text)
  const mac = text.slice(-macLength)
  if (!keys.some((key) => equalSecrets(mac, macOf(key, payload)))) return null
  return JSON.parse(Buffer.from(payload, 'base64url').toString())
}

/**
 * @returns the values in a text of {@link signedList}, without a check of its key; null for any
 * other text
 */
export function claimedList(text: string): unknown[] | null {
  try {
    const values: unknown = JSON.parse(Buffer.from(payloadOf(text), 'base64url').toString())
    return Array.isArray(values) ? values : null
  } catch {
    return null
  }
}
