import type { GatewayCertificate } from '../../certificate.js'
import { readFields } from '../runtime/credentials.js'

export interface VendorXCredentials {
  readonly secret: string
  readonly packageName: string
}

/** @throws CredentialError */
export function readVendorXCredentials(certificate: GatewayCertificate): VendorXCredentials {
  return readFields(certificate, (fields) => ({
    secret: fields.required('app_secret'),
    packageName: fields.required('package_name', 'the Android package of the app'),
  }))
}
