import type { GatewayCertificate } from '../../sender.js'
import { required } from '../runtime/protocol.js'

export interface VendorFCredentials {
  readonly appId: string
  readonly secret: string
}

/** @throws CredentialError */
export function readVendorFCredentials(certificate: GatewayCertificate): VendorFCredentials {
  return {
    appId: required(certificate.appId, 'app_id'),
    secret: required(certificate.appSecret, 'app_secret'),
  }
}
