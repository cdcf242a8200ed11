import type { GatewayCertificate } from '../../certificate.js'
import { readFields } from '../runtime/credentials.js'

export interface VendorFCredentials {
  readonly appId: string
  readonly secret: string
}

/** @throws CredentialError */
export function readVendorFCredentials(certificate: GatewayCertificate): VendorFCredentials {
  return readFields(certificate, (fields) => ({
    appId: fields.required('gateway_app_id'),
    secret: fields.required('app_secret'),
  }))
}
