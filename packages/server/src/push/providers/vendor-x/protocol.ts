import { noPassThrough } from '../content/answers.js'
import { defaultLimits, type GatewayProtocol, sendTogether } from '../runtime/protocol.js'
import { vendorXOutcomes } from './answers.js'
import { readVendorXCredentials, type VendorXCredentials } from './credentials.js'
import { vendorXClass, vendorXRequest } from './payload.js'

/** Xiaomi's MiPush. */
export const vendorXProtocol: GatewayProtocol<VendorXCredentials> = {
  channel: 'vendor_x',
  limits: { ...defaultLimits, targetsPerRequest: 1_000, perSecond: 250, burst: 250 },
  guardsCommands: true,
  auth: null,
  readCredentials: readVendorXCredentials,
  refuse: ({ kind }, { allowsPassThrough }) =>
    kind === 'cmd' && !allowsPassThrough ? noPassThrough : null,
  classOf: vendorXClass,
  send: sendTogether(vendorXRequest, vendorXOutcomes),
}
