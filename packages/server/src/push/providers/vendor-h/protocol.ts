import { signJwt } from '../content/jwt.js'
import { clientCredentialsToken, issuedToken } from '../content/oauth.js'
import {
  type AuthScheme,
  defaultLimits,
  type GatewayProtocol,
  sendTogether,
} from '../runtime/protocol.js'
import { vendorHOutcomes } from './answers.js'
import { readVendorHCredentials, type VendorHCredentials } from './credentials.js'
import { vendorHRequest } from './payload.js'

const tokenUrl = 'https://oauth-login.cloud.huawei.com/oauth2/v3/token'
const jwtSeconds = 3600

/** Exchanges client credentials for a token; the key of a service account signs its own token. */
const vendorHAuth: AuthScheme<VendorHCredentials> = {
  async issue({ credentials: { proof }, certificate, now, call }) {
    const url = certificate.endpoint?.authUrl ?? tokenUrl
    if (proof.kind === 'secret') return clientCredentialsToken(url, proof, call)
    const { subAccount, keyId, key } = proof
    const iat = Math.floor(now / 1000)
    const claims = { iss: subAccount, aud: url, iat, exp: iat + jwtSeconds }
    const value = await signJwt({ alg: 'PS256', keyId, key }, claims)
    return issuedToken(value, now, jwtSeconds * 1000)
  },
}

/** Huawei's Push Kit, v1 and v2. */
export const vendorHProtocol: GatewayProtocol<VendorHCredentials> = {
  channel: 'vendor_h',
  limits: {
    ...defaultLimits,
    targetsPerRequest: 1_000,
    rateUnit: 'message',
    perSecond: 3_000,
    burst: 3_000,
  },
  auth: vendorHAuth,
  readCredentials: readVendorHCredentials,
  send: sendTogether(vendorHRequest, vendorHOutcomes),
}
