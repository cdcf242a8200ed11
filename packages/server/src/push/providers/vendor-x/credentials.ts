import type { GatewayCertificate } from '../../sender.js'
import { required } from '../runtime/protocol.js'

export interface VendorXCredentials {
  readonly secret: string
  readonly packageName: string
}

/** @throws CredentialError */
export function readVendorXCredentials(certificate: GatewayCertificate): VendorXCredentials {
  return {
    secret: required(certificate.appSecret, 'app_secret'),
    packageName: required(certificate.packageName, 'package name of the app'),
  }
}
