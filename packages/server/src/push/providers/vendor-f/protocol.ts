import { noPassThrough } from '../content/answers.js'
import { defaultLimits, type GatewayProtocol, sendTogether } from '../runtime/protocol.js'
import { isOwnAddress, vendorFOutcomes, vendorFRedirect } from './answers.js'
import { readVendorFCredentials, type VendorFCredentials } from './credentials.js'
import { vendorFRequest } from './payload.js'

const send = sendTogether(vendorFRequest, vendorFOutcomes)

/** Meizu's push service. */
export const vendorFProtocol: GatewayProtocol<VendorFCredentials> = {
  channel: 'vendor_f',
  limits: { ...defaultLimits, targetsPerRequest: 100, perSecond: 100, burst: 100 },
  auth: null,
  readCredentials: readVendorFCredentials,
  refuse: ({ kind }, { allowsPassThrough }) =>
    kind === 'cmd' && !allowsPassThrough ? noPassThrough : null,
  classOf: ({ kind }) => (kind === 'cmd' ? 'command' : null),
  send: (batch, call) =>
    send(batch, async (request) => {
      const answer = await call(request)
      const elsewhere = vendorFRedirect(answer)
      return elsewhere !== null && isOwnAddress(elsewhere, batch.certificate)
        ? call({ ...request, url: elsewhere.href })
        : answer
    }),
}
