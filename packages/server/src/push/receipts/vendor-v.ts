/** Receipts of vendor_v: JSON, by task ID. */
import { scalarText } from '../../lib/json.js'
import {
  optionalTime,
  type PushReceipt,
  type ReceiptKind,
  readJsonText,
  readMembers,
  readTokens,
} from './receipt.js'

const arrived = '0'
/** Sub code of an ended registration ID. */
const endedToken = '2183'

/** @throws ReceiptError */
export function vendorVReceipts(body: string): PushReceipt[] {
  const tasks = readMembers(readJsonText(body, 'the body'), 'the body')
  return Object.entries(tasks).flatMap(([messageId, value]) => {
    const entry = readMembers(value, 'a task')
    // An older receipt has no type; the vendor sends it for arrivals only.
    const type = scalarText(entry.ackType) || arrived
    const sub = scalarText(entry.subAckType)
    return readTokens(entry.targets, 'targets').map((token) => ({
      messageId,
      token,
      kind: receiptKindOf(type, sub),
      code: sub === '' ? type : `${type}/${sub}`,
      tag: scalarText(entry.param),
      at: optionalTime(entry.ackTime),
    }))
  })
}

function receiptKindOf(type: string, sub: string): ReceiptKind {
  if (type === arrived) return 'delivered'
  return sub === endedToken ? 'invalid_token' : 'ignored'
}
