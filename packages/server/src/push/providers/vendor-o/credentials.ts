import type { GatewayCertificate } from '../../sender.js'
import { readFields } from '../runtime/credentials.js'

export interface VendorOCredentials {
  readonly appKey: string
  readonly masterSecret: string
}

/** @throws CredentialError */
export function readVendorOCredentials(certificate: GatewayCertificate): VendorOCredentials {
  return readFields(certificate, (fields) => {
    if (certificate.notifyLevel !== undefined && certificate.category === undefined)
      fields.note('notify_level', 'needs category, since only such messages have a level')
    return {
      appKey: fields.required('app_key'),
      masterSecret: fields.required('app_secret', 'the MasterSecret'),
    }
  })
}
