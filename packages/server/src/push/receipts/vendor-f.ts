/** Receipts of vendor_f: a form field with JSON, by message ID and type. */

import { timingSafeEqual } from 'node:crypto'
import { scalarText } from '../../lib/json.js'
import {
  type PushReceipt,
  ReceiptError,
  type ReceiptKind,
  readJsonText,
  readMembers,
  readText,
  readTokens,
} from './receipt.js'

const types: Readonly<Record<string, ReceiptKind>> = { 1: 'delivered', 2: 'clicked' }

/** @throws ReceiptError */
export function vendorFReceipts(body: string): PushReceipt[] {
  const cb = new URLSearchParams(body).get('cb')
  if (cb === null) throw new ReceiptError('the form has no field cb')
  return Object.entries(readMembers(readJsonText(cb, 'cb'), 'cb')).flatMap(([key, value]) => {
    const entry = readMembers(value, 'a message')
    const code = readText(entry.type, 'type')
    const ending = `-${code}`
    return readTokens(entry.targets, 'targets').map((token) => ({
      messageId: key.endsWith(ending) ? key.slice(0, -ending.length) : key,
      token,
      kind: types[code] ?? 'ignored',
      code,
      tag: scalarText(entry.param),
      at: null,
    }))
  })
}

/** Tests whether the form has the access token that is set in the vendor's console. */
export function isSentByVendorF(body: string, accessToken: string): boolean {
  const given = Buffer.from(new URLSearchParams(body).get('access_token') ?? '')
  const expected = Buffer.from(accessToken)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
