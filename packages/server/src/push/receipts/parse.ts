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
 * Parses a request to the receipt address of a channel.
 *
 * @param body unchanged body of the request: JSON, or a form with JSON in it
 * @returns one receipt for each message and device, in their order
 * @throws ReceiptError with the fault, also when only one of many receipts is faulty
 */
export function parseReceipts(channel: ReceiptChannel, body: string): PushReceipt[] {
  return parsers[channel](body)
}

/** Body with which the gateway expects status 200, so that it does not repeat the receipt. */
export function receiptAnswer(channel: ReceiptChannel): string {
  switch (channel) {
    case 'vendor_h':
      // The first two members since version 2 of the receipts, the others before.
      return '{"code":"0","message":"success","errno":"0","errmsg":"success"}'
    case 'vendor_n':
      return '{"code":"0","message":"success"}'
    default:
      return '{}'
  }
}
