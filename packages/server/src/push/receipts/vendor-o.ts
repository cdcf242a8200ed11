/** Receipts of vendor_o: a list of events. */
import { scalarText } from '../../lib/json.js'
import {
  optionalTime,
  type PushReceipt,
  type ReceiptKind,
  readJsonText,
  readList,
  readMembers,
  readText,
  readTokens,
} from './receipt.js'

const eventTypes: Readonly<Record<string, ReceiptKind>> = {
  push_arrive: 'delivered',
  regid_invalid: 'invalid_token',
  user_daily_limit: 'throttled',
}

/** @throws ReceiptError */
export function vendorOReceipts(body: string): PushReceipt[] {
  return readList(readJsonText(body, 'the body'), 'the body').flatMap((item) => {
    const event = readMembers(item, 'an event')
    const code = readText(event.eventType, 'eventType')
    return readTokens(event.registrationIds, 'registrationIds').map((token) => ({
      messageId: readText(event.messageId, 'messageId'),
      token,
      kind: eventTypes[code] ?? 'ignored',
      code,
      tag: scalarText(event.param),
      at: optionalTime(event.eventTime),
    }))
  })
}
