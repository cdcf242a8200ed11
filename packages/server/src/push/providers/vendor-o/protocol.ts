import { noPassThrough } from '../content/answers.js'
import { defaultLimits, type GatewayProtocol, sendTogether } from '../runtime/protocol.js'
import { missingTemplate } from '../templates/template.js'
import { vendorOOutcomes } from './answers.js'
import { vendorOAuth } from './auth.js'
import { readVendorOCredentials, type VendorOCredentials } from './credentials.js'
import { vendorORequest, vendorOTemplateOf } from './payload.js'
import { regionOf } from './region.js'

/** OPPO's push service. */
export const vendorOProtocol: GatewayProtocol<VendorOCredentials> = {
  channel: 'vendor_o',
  limits: {
    ...defaultLimits,
    targetsPerRequest: 1_000,
    rateUnit: 'message',
    perSecond: 2_500,
    burst: 2_500,
  },
  auth: vendorOAuth,
  readCredentials: readVendorOCredentials,
  refuse: (notification, certificate) =>
    notification.kind === 'cmd' ? noPassThrough : missingTemplate(notification, certificate),
  partOf: regionOf,
  send: sendTogether(vendorORequest, (answer, batch) => {
    const { targets, notification, certificate } = batch
    const template = vendorOTemplateOf(notification, certificate)
    return vendorOOutcomes(answer, { targets, template })
  }),
}
