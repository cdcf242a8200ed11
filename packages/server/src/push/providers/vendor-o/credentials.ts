import type { GatewayCertificate } from '../../sender.js'
import { readFields } from '../runtime/credentials.js'

export interface VendorOCredentials {
  readonly appKey: string
  readonly masterSecret: string
}

/** @throws CredentialError */
export function readVendorOCredentials(certificate: GatewayCertificate): VendorOCredentials {
  return readFields(certificate, (fields) => ({
    appKey: fields.required('app_key'),
    masterSecret: fields.required('app_secret', 'the MasterSecret'),
  }))
}
