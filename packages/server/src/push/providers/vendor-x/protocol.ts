import { noPassThrough } from '../content/answers.js'
import { defaultLimits, type GatewayProtocol, sendTogether } from '../runtime/protocol.js'
import { missingTemplate } from '../templates/template.js'
import { receiptRefusal, vendorXOutcomes } from './answers.js'
import { readVendorXCredentials, type VendorXCredentials } from './credentials.js'
import { vendorXClass, vendorXRequest, vendorXTemplateOf } from './payload.js'

const sendOnce = sendTogether<VendorXCredentials>(vendorXRequest, (answer, batch) => {
  const { targets, notification, certificate } = batch
  const template = vendorXTemplateOf(notification, certificate)
  const messageClass = vendorXClass(notification, certificate)
  return vendorXOutcomes(answer, { targets, messageClass, template })
})

/** Xiaomi's MiPush. */
export const vendorXProtocol: GatewayProtocol<VendorXCredentials> = {
  channel: 'vendor_x',
  limits: { ...defaultLimits, targetsPerRequest: 1_000, perSecond: 250, burst: 250 },
  guardsCommands: true,
  auth: null,
  readCredentials: readVendorXCredentials,
  refuse: (notification, certificate) => {
    if (notification.kind !== 'cmd') return missingTemplate(notification, certificate)
    return certificate.allowsPassThrough ? null : noPassThrough
  },
  classOf: vendorXClass,
  async send(batch, call) {
    const outcomes = await sendOnce(batch, call)
    const code = receiptRefusal(outcomes)
    const { receiptUrl, ...certificate } = batch.certificate
    if (code === null || receiptUrl === undefined) return outcomes
    // A push without receipts is better than none.
    const again = await sendOnce({ ...batch, certificate }, call)
    return again.map((outcome) => ({ alarm: { kind: 'receipts_refused', code }, ...outcome }))
  },
}
