import type { GatewayCertificate } from '../../sender.js'
import { required } from '../runtime/protocol.js'

export interface VendorNCredentials {
  readonly appId: string
  readonly clientId: string
  readonly secret: string
}

/** @throws CredentialError */
export function readVendorNCredentials(certificate: GatewayCertificate): VendorNCredentials {
  return {
    appId: required(certificate.appId, 'app_id'),
    clientId: required(certificate.appKey, 'app_key: the client ID'),
    secret: required(certificate.appSecret, 'app_secret: the client secret'),
  }
}
