import { signJwt } from '../content/jwt.js'
import { oauthToken } from '../content/oauth.js'
import { formRequest } from '../content/requests.js'
import {
  type AuthScheme,
  defaultLimits,
  type GatewayProtocol,
  sendOneByOne,
} from '../runtime/protocol.js'
import { cloudOutcome } from './answers.js'
import { type CloudCredentials, readCloudCredentials } from './credentials.js'
import { cloudRequest } from './payload.js'

const scope = 'https://www.googleapis.com/auth/firebase.messaging'
const grantType = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const assertionSeconds = 3600

/** Exchanges a signed assertion for an access token (RFC 7523). */
const cloudAuth: AuthScheme<CloudCredentials> = {
  async issue({ credentials: { clientEmail, keyId, key, tokenUrl }, now, call }) {
    const iat = Math.floor(now / 1000)
    const claims = { iss: clientEmail, scope, aud: tokenUrl, iat, exp: iat + assertionSeconds }
    const assertion = await signJwt({ alg: 'RS256', keyId, key }, claims)
    return oauthToken(await call(formRequest(tokenUrl, { grant_type: grantType, assertion })))
  },
}

/** Firebase Cloud Messaging, HTTP v1. */
export const cloudProtocol: GatewayProtocol<CloudCredentials> = {
  channel: 'cloud_gw',
  limits: {
    ...defaultLimits,
    perSecond: 2_000,
    burst: 2_000,
    maxInFlight: 100,
    maxQueued: 20_000,
  },
  auth: cloudAuth,
  readCredentials: readCloudCredentials,
  send: sendOneByOne(cloudRequest, cloudOutcome),
}
