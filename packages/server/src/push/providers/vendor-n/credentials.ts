import type { GatewayCertificate } from '../../certificate.js'
import { readFields } from '../runtime/credentials.js'

export interface VendorNCredentials {
  readonly appId: string
  readonly clientId: string
  readonly secret: string
}

/** @throws CredentialError */
export function readVendorNCredentials(certificate: GatewayCertificate): VendorNCredentials {
  return readFields(certificate, (fields) => ({
    appId: fields.required('gateway_app_id'),
    clientId: fields.required('app_key', 'the client ID'),
    secret: fields.required('app_secret', 'the client secret'),
  }))
}
