/** Which addresses gateways take that are told with each message where its receipts go. */
import type { VendorChannel } from '../sender.js'

/** In bytes. A message with a longer one is refused; the other channels name no bound, or are told by the vendor's console. */
const maxAddressBytes: Partial<Readonly<Record<VendorChannel, number>>> = {
  vendor_x: 128,
  vendor_v: 128,
  vendor_o: 200,
}

/** Why a gateway cannot be told the address, for the operator; "": it can. */
export function receiptAddressProblem(channel: VendorChannel, url: string): string {
  const max = maxAddressBytes[channel]
  const length = Buffer.byteLength(url)
  return max === undefined || length <= max
    ? ''
    : `no receipts are asked for: their address has ${length} bytes, and ${channel} takes ${max}; HERMOD_PUBLIC_URL is too long`
}
