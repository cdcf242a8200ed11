/** Receipts of vendor_x: a form field with JSON, by message ID. */
import { scalarText } from '../../lib/json.js'
import {
  optionalTime,
  type PushReceipt,
  ReceiptError,
  type ReceiptKind,
  readJsonText,
  readMembers,
  readText,
  readTokens,
} from './receipt.js'

const types: Readonly<Record<string, ReceiptKind>> = {
  1: 'delivered',
  2: 'clicked',
  16: 'invalid_token',
  32: 'muted',
  64: 'suppressed',
  128: 'throttled',
}

/** @throws ReceiptError */
export function vendorXReceipts(body: string): PushReceipt[] {
  const data = new URLSearchParams(body).get('data')
  if (data === null) throw new ReceiptError('the form has no field data')
  const messages = readMembers(readJsonText(data, 'data'), 'data')
  return Object.entries(messages).flatMap(([messageId, value]) => {
    const entry = readMembers(value, 'a message')
    const code = readText(entry.type, 'type')
    const replaced =
      'replaceTarget' in entry ? readMembers(entry.replaceTarget, 'replaceTarget') : {}
    return readTokens(entry.targets, 'targets').map((token) => {
      const newToken = scalarText(replaced[token])
      return {
        messageId,
        token,
        kind: types[code] ?? 'ignored',
        code,
        tag: scalarText(entry.param),
        at: optionalTime(entry.timestamp),
        ...(newToken === '' ? {} : { newToken }),
      }
    })
  })
}
