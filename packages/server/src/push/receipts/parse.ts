import { vendorHReceipts, vendorNReceipts } from './kit.js'
import type { PushReceipt, ReceiptChannel } from './receipt.js'
import { vendorFReceipts } from './vendor-f.js'
import { vendorOReceipts } from './vendor-o.js'
import { vendorVReceipts } from './vendor-v.js'
import { vendorXReceipts } from './vendor-x.js'

const parsers: Readonly<Record<ReceiptChannel, (body: string) => PushReceipt[]>> = {
  vendor_h: vendorHReceipts,
  vendor_x: vendorXReceipts,
  vendor_f: vendorFReceipts,
  vendor_v: vendorVReceipts,
  vendor_o: vendorOReceipts,
  vendor_n: vendorNReceipts,
}

/**
 * Reads what the gateway of a channel has sent to its receipt address.
 *
 * @param body of the request, as it came: JSON, or a form with JSON in it
 * @returns one receipt for each message and device, in their order
 * @throws ReceiptError with what is wrong, also when only one of many is
 */
export function parseReceipts(channel: ReceiptChannel, body: string): PushReceipt[] {
  return parsers[channel](body)
}

/** What the gateway wants to be answered, with status 200, so that it does not send it again. */
export function receiptAnswer(channel: ReceiptChannel): string {
  if (channel === 'vendor_h') return '{"errno":"0","errmsg":"success"}'
  return channel === 'vendor_n' ? '{"code":"0","message":"success"}' : '{}'
}
