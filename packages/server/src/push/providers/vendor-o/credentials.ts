import type { GatewayCertificate } from '../../sender.js'
import { required } from '../runtime/protocol.js'

export interface VendorOCredentials {
  readonly appKey: string
  readonly masterSecret: string
}

/** @throws CredentialError */
export function readVendorOCredentials(certificate: GatewayCertificate): VendorOCredentials {
  return {
    appKey: required(certificate.appKey, 'app_key'),
    masterSecret: required(certificate.appSecret, 'app_secret: the MasterSecret'),
  }
}
