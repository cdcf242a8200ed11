import { chunksOf } from '../../../lib/chunks.js'
import type { PushOutcome } from '../../outcomes.js'
import { signJwt } from '../content/jwt.js'
import { clientCredentialsToken, issuedToken } from '../content/oauth.js'
import {
  type AuthScheme,
  type CallGateway,
  defaultLimits,
  type GatewayProtocol,
  type PushBatch,
  sendTogether,
} from '../runtime/protocol.js'
import { uncheckedPicture, vendorHOutcomes } from './answers.js'
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

/** Huawei's Push Kit, versions 1 to 3. */
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
  async send(batch, call) {
    const isTest =
      batch.credentials.apiVersion === 3 && batch.certificate.environment === 'development'
    const parts = isTest ? chunksOf(batch.targets, targetsPerTest) : [batch.targets]
    const outcomes = await Promise.all(
      parts.map((targets) => sendPart({ ...batch, targets }, call)),
    )
    return outcomes.flat()
  },
}

/** Version 3 takes fewer tokens in a test message. */
const targetsPerTest = 10

const sendOnce = sendTogether(vendorHRequest, vendorHOutcomes)

/** Sends without the picture when the vendor, which checks pictures in advance, does not know it. */
async function sendPart(
  batch: PushBatch<VendorHCredentials>,
  call: CallGateway,
): Promise<readonly PushOutcome[]> {
  const outcomes = await sendOnce(batch, call)
  const isUncheckedPicture = outcomes.every(
    (outcome) => outcome.kind === 'payload' && outcome.code === uncheckedPicture,
  )
  if (!isUncheckedPicture || batch.notification.kind !== 'image') return outcomes
  return sendOnce({ ...batch, notification: { ...batch.notification, kind: 'text' } }, call)
}
