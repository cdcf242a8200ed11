/** Addresses to which gateways send receipts. */
import type { VendorChannel } from '../certificate.js'

/** Inputs of {@link receiptProblem}: the set-up of the receipts of one certificate. */
export interface ReceiptSetUp {
  readonly channel: VendorChannel
  /** Only a path when the public address of the service is unknown. */
  readonly url: string
  readonly isPublic: boolean
  /** Pushes request receipts. */
  readonly isRequested: boolean
  /** ID of the address in the vendor's console; undefined: none. */
  readonly receiptId: string | undefined
}

/**
 * Maximum length in bytes of an address in a message, with which a longer one makes the gateway refuse
 * the message. Other channels take the address from the vendor's console.
 */
const maxAddressBytes: Partial<Readonly<Record<VendorChannel, number>>> = {
  vendor_x: 128,
  vendor_f: 128,
  vendor_v: 128,
  vendor_o: 200,
}

/** Returns the reason why receipts are missing, and the remedy, for the operator; "" for none. */
export function receiptProblem({
  channel,
  url,
  isPublic,
  isRequested,
  receiptId,
}: ReceiptSetUp): string {
  if (!sendsReceipts(channel)) return ''
  const maxBytes = receiptId === undefined ? maxAddressBytes[channel] : undefined
  const isInConsole = maxBytes === undefined
  if (!isPublic)
    return isInConsole
      ? 'receipt_url is only a path, since HERMOD_PUBLIC_URL is not set'
      : 'pushes request no receipts, since HERMOD_PUBLIC_URL is not set'
  if (!isInConsole && isAddressTooLong(channel, url))
    return `pushes request no receipts: receipt_url has ${Buffer.byteLength(url)} bytes, and ${channel} takes ${maxBytes}; HERMOD_PUBLIC_URL is too long`
  if (isRequested && channel === 'vendor_v' && !isInConsole)
    return "the gateway sends no receipts of pushes to several devices at once; enter receipt_url in the vendor's console, then set --receipt-id"
  if (isRequested || (isInConsole && receiptId === undefined)) return ''
  const before = channel === 'vendor_f' ? "register receipt_url in the vendor's console, then " : ''
  return `pushes request no receipts; ${before}set --receipts on`
}

/** Tests whether the gateway would refuse a message with the address. */
export function isAddressTooLong(channel: VendorChannel, url: string): boolean {
  return Buffer.byteLength(url) > (maxAddressBytes[channel] ?? Infinity)
}

/** Tests whether the gateway of a channel sends receipts. */
export function sendsReceipts(channel: VendorChannel): boolean {
  return channel !== 'ios_gw' && channel !== 'cloud_gw'
}
