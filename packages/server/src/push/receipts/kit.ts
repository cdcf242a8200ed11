/** Receipts of vendor_h and vendor_n: a list of statuses. */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { scalarText } from '../../lib/json.js'
import {
  optionalTime,
  type PushReceipt,
  type ReceiptKind,
  readJsonText,
  readList,
  readMembers,
  readText,
} from './receipt.js'

type StatusTable = Readonly<Record<string, ReceiptKind>>

/**
 * Statuses without an entry have no consequence. Those that version 2 adds (such as 151 and 261 to
 * 269) all mean that the message was not delivered, and neither the token nor a pause is to blame.
 */
const vendorHStatuses: StatusTable = {
  0: 'delivered',
  2: 'invalid_token',
  5: 'invalid_token',
  6: 'muted',
  10: 'suppressed',
  102: 'throttled',
  201: 'suppressed',
  256: 'throttled',
}

const vendorNStatuses: StatusTable = {
  40000001: 'delivered',
  40000002: 'delivered',
  40000003: 'invalid_token',
  40000004: 'invalid_token',
  40000005: 'muted',
  40000006: 'muted',
  40000007: 'clicked',
  40000009: 'throttled',
}

/** @throws ReceiptError */
export function vendorHReceipts(body: string): PushReceipt[] {
  return kitReceipts(body, vendorHStatuses)
}

/** @throws ReceiptError */
export function vendorNReceipts(body: string): PushReceipt[] {
  return kitReceipts(body, vendorNStatuses)
}

/**
 * Tests whether a request reports nothing, as the one with which the vendor's console tests the
 * address. It needs no signature, since it changes nothing.
 */
export function isTestOfAddress(body: string): boolean {
  try {
    return readStatuses(body).length === 0
  } catch {
    return false
  }
}

/** @throws ReceiptError */
function readStatuses(body: string): readonly unknown[] {
  const members = body.trim() === '' ? {} : readMembers(readJsonText(body, 'the body'), 'the body')
  return 'statuses' in members ? readList(members.statuses, 'statuses') : []
}

function kitReceipts(body: string, table: StatusTable): PushReceipt[] {
  return readStatuses(body).map((item) => {
    const entry = readMembers(item, 'a status')
    // Version 2 of the receipts has these two one level below.
    const place =
      'deliveryStatus' in entry ? readMembers(entry.deliveryStatus, 'deliveryStatus') : {}
    const code = readText(place.result ?? entry.status, 'status')
    return {
      messageId: readText(entry.requestId, 'requestId'),
      token: readText(entry.token, 'token'),
      kind: table[code] ?? 'ignored',
      code,
      tag: scalarText(entry.biTag),
      at: optionalTime(place.timestamp ?? entry.timestamp),
    }
  })
}

/**
 * The difference to the clock of vendor_h with which a signature is valid; it covers the time and
 * not the body.
 */
const signatureLifeMs = 10 * 60_000

/**
 * Tests whether the header X-HUAWEI-CALLBACK-ID proves that vendor_h sent the receipt a short time
 * ago. A repeated request within that time passes too; it changes nothing, since each device counts
 * once.
 *
 * @param header timestamp=…;nonce=…;value=…; the timestamp in milliseconds
 * @param now milliseconds since 1970
 */
export function isSignedByVendorH(
  header: string,
  { user, secret }: { readonly user: string; readonly secret: string },
  now: number,
): boolean {
  const part = (name: string) => new RegExp(`(?:^|;)\\s*${name}=([^;]*)`).exec(header)?.[1] ?? ''
  const timestamp = part('timestamp')
  if (!/^\d{1,15}$/.test(timestamp)) return false
  if (Math.abs(now - Number(timestamp)) > signatureLifeMs) return false
  const given = Buffer.from(part('value'), 'base64')
  const matches = signingKeys(secret).map((key) => {
    const expected = createHmac('sha256', key)
      .update(timestamp + part('nonce') + user)
      .digest()
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  return matches.includes(true)
}

/**
 * Returns the forms in which vendor_h uses a key: the text in old set-ups of receipts, the bytes
 * that it stands for as base64 in new ones.
 */
function signingKeys(secret: string): Buffer[] {
  const text = Buffer.from(secret)
  const decoded = Buffer.from(secret, 'base64')
  // Other texts decode to a shorter key, which is easier to guess.
  const isBase64 = withoutPadding(decoded.toString('base64')) === withoutPadding(secret)
  return isBase64 ? [text, decoded] : [text]
}

function withoutPadding(base64: string): string {
  return base64.replace(/=+$/, '')
}
