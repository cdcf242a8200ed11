/** Receipts: reports of gateways about messages that they accepted earlier. */
import { isJsonObject, type JsonObject, parseJson, scalarText } from '../../lib/json.js'

/** Channels with gateways that send receipts. */
export const receiptChannels = [
  'vendor_h',
  'vendor_x',
  'vendor_f',
  'vendor_v',
  'vendor_o',
  'vendor_n',
] as const

/** One of {@link receiptChannels}. */
export type ReceiptChannel = (typeof receiptChannels)[number]

/**
 * `delivered`: reached the device. `clicked`: was opened. `invalid_token`: the token has ended.
 * `muted`: notifications are off; the token is valid. `suppressed`: the device is out of reach.
 * `throttled`: no more for this device until the vendors' day ends. `ignored`: no consequence.
 */
export type ReceiptKind =
  | 'delivered'
  | 'clicked'
  | 'invalid_token'
  | 'muted'
  | 'suppressed'
  | 'throttled'
  | 'ignored'

/** The result of a message on one device. */
export interface PushReceipt {
  /** The same ID as in the outcome `accepted`. */
  readonly messageId: string
  readonly token: string
  readonly kind: ReceiptKind
  /** The vendor's own code. */
  readonly code: string
  /** The notification's `receiptTag`; "" when the receipt has none. */
  readonly tag: string
  /** Milliseconds since 1970, by the vendor's clock; null when not stated. */
  readonly at: number | null
  /** The token that the device has now, where the vendor reports it. */
  readonly newToken?: string
}

/** The body has no format of this vendor. */
export class ReceiptError extends Error {
  override readonly name = 'ReceiptError'
}

/** @throws ReceiptError */
export function readJsonText(text: string, what: string): unknown {
  try {
    return parseJson(text)
  } catch {
    throw new ReceiptError(`${what} is not JSON`)
  }
}

/** @throws ReceiptError */
export function readMembers(value: unknown, what: string): JsonObject {
  if (!isJsonObject(value)) throw new ReceiptError(`${what} is not an object`)
  return value
}

/** @throws ReceiptError */
export function readList(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new ReceiptError(`${what} is not a list`)
  return value
}

/**
 * Returns a string or a number as a string.
 * @throws ReceiptError when it is missing
 */
export function readText(value: unknown, what: string): string {
  const text = scalarText(value)
  if (text === '') throw new ReceiptError(`${what} is missing`)
  return text
}

export function optionalTime(value: unknown): number | null {
  const time = Number(scalarText(value) || Number.NaN)
  return Number.isSafeInteger(time) ? time : null
}

/**
 * Returns several tokens from a list, or from one text with commas between them.
 * @throws ReceiptError when there is none
 */
export function readTokens(value: unknown, what: string): string[] {
  const tokens = Array.isArray(value) ? value.map(scalarText) : scalarText(value).split(',')
  const found = tokens.map((token) => token.trim()).filter((token) => token !== '')
  if (found.length === 0) throw new ReceiptError(`${what} is missing`)
  return found
}
