/** Receipt addresses that gateways accept with each message. */
import type { VendorChannel } from '../sender.js'

/**
 * Maximum length in bytes; the gateway refuses a message with a longer address. Other channels
 * state no bound, or take the address from the vendor's console.
 */
const maxAddressBytes: Partial<Readonly<Record<VendorChannel, number>>> = {
  vendor_x: 128,
  vendor_v: 128,
  vendor_o: 200,
}

/** Returns the reason why a gateway cannot take the address, for the operator; "" when it can. */
export function receiptAddressProblem(channel: VendorChannel, url: string): string {
  const max = maxAddressBytes[channel]
  const length = Buffer.byteLength(url)
  return max === undefined || length <= max
    ? ''
    : `no receipts are asked for: their address has ${length} bytes, and ${channel} takes ${max}; HERMOD_PUBLIC_URL is too long`
}
