import { clientCredentialsToken } from '../content/oauth.js'
import {
  type AuthScheme,
  defaultLimits,
  type GatewayProtocol,
  sendTogether,
} from '../runtime/protocol.js'
import { vendorNOutcomes } from './answers.js'
import { readVendorNCredentials, type VendorNCredentials } from './credentials.js'
import { vendorNRequest } from './payload.js'

const tokenUrl = 'https://iam.developer.honor.com/auth/token'

const vendorNAuth: AuthScheme<VendorNCredentials> = {
  issue({ credentials, certificate, call }) {
    return clientCredentialsToken(certificate.endpoint?.authUrl ?? tokenUrl, credentials, call)
  },
}

/** Honor's push service. */
export const vendorNProtocol: GatewayProtocol<VendorNCredentials> = {
  channel: 'vendor_n',
  limits: {
    ...defaultLimits,
    targetsPerRequest: 1_000,
    rateUnit: 'message',
    perSecond: 1_500,
    burst: 1_500,
  },
  auth: vendorNAuth,
  readCredentials: readVendorNCredentials,
  send: sendTogether(vendorNRequest, vendorNOutcomes),
}
