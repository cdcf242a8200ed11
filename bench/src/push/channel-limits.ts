/** The service's own limits at each gateway. */
import type { SimulatedChannel } from '@hermod/push-simulator'
import { cloudProtocol } from '@hermod/server/dist/push/providers/cloud-gw/protocol.js'
import { iosProtocol } from '@hermod/server/dist/push/providers/ios-gw/protocol.js'
import type { ChannelLimits } from '@hermod/server/dist/push/providers/runtime/protocol.js'
import { vendorFProtocol } from '@hermod/server/dist/push/providers/vendor-f/protocol.js'
import { vendorHProtocol } from '@hermod/server/dist/push/providers/vendor-h/protocol.js'
import { vendorNProtocol } from '@hermod/server/dist/push/providers/vendor-n/protocol.js'
import { vendorOProtocol } from '@hermod/server/dist/push/providers/vendor-o/protocol.js'
import { vendorVProtocol } from '@hermod/server/dist/push/providers/vendor-v/protocol.js'
import { vendorXProtocol } from '@hermod/server/dist/push/providers/vendor-x/protocol.js'

/** Limits of the simulated channels, as the service has them. */
export const channelLimits: Readonly<Record<SimulatedChannel, ChannelLimits>> = {
  ios_gw: iosProtocol().limits,
  cloud_gw: cloudProtocol.limits,
  vendor_h: vendorHProtocol.limits,
  vendor_x: vendorXProtocol.limits,
  vendor_f: vendorFProtocol.limits,
  vendor_v: vendorVProtocol.limits,
  vendor_o: vendorOProtocol.limits,
  vendor_n: vendorNProtocol.limits,
}

const nearly = 0.9

/**
 * Describes the rate that limits a channel; null when another factor does.
 * @param sendsPerRequest mean number of devices in a request
 */
export function boundBy(
  { rateUnit, perSecond }: Pick<ChannelLimits, 'rateUnit' | 'perSecond'>,
  { perSecond: reached, sendsPerRequest }: { perSecond: number; sendsPerRequest: number },
): string | null {
  const allowed = rateUnit === 'message' ? perSecond : perSecond * sendsPerRequest
  if (!(reached >= allowed * nearly)) return null
  return `the rate limit of ${perSecond} ${rateUnit}s/s`
}
