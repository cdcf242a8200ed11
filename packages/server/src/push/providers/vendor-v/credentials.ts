import type { GatewayCertificate } from '../../sender.js'
import { CredentialError, required } from '../runtime/protocol.js'

export interface VendorVCredentials {
  readonly appId: number
  readonly appKey: string
  readonly secret: string
}

/** @throws CredentialError */
export function readVendorVCredentials(certificate: GatewayCertificate): VendorVCredentials {
  const appId = Number(required(certificate.appId, 'app_id'))
  if (!Number.isSafeInteger(appId)) throw new CredentialError('app_id of vendor_v is a number')
  return {
    appId,
    appKey: required(certificate.appKey, 'app_key'),
    secret: required(certificate.appSecret, 'app_secret'),
  }
}
