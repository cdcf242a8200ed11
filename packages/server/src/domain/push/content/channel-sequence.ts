/** The vendor channels of `ospush_sequence` (rule G2). */
import type { VendorChannel } from '../../../push/certificate.js'

/** `ups` in ospush_sequence: the handset vendors, in this order. */
export const handsetVendors = [
  'vendor_h',
  'vendor_n',
  'vendor_x',
  'vendor_o',
  'vendor_v',
  'vendor_f',
] as const satisfies readonly VendorChannel[]

const defaultSequence = ['ups', 'cloud_gw'] as const

/**
 * The channels that ospush_sequence stands for, each once. ios_gw has no name there and is always
 * first: its devices are bound to no other channel.
 */
export function sequenceOf(names: readonly ('ups' | VendorChannel)[] = []): VendorChannel[] {
  const named = names.length > 0 ? names : defaultSequence
  const channels = named.flatMap((name) => (name === 'ups' ? handsetVendors : [name]))
  return [...new Set<VendorChannel>(['ios_gw', ...channels])]
}
