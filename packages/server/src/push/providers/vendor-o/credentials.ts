import type { GatewayCertificate } from '../../certificate.js'
import { readFields } from '../runtime/credentials.js'

export interface VendorOCredentials {
  readonly appKey: string
  readonly masterSecret: string
}

/** @throws CredentialError */
export function readVendorOCredentials(certificate: GatewayCertificate): VendorOCredentials {
  return readFields(certificate, (fields) => {
    const { notifyLevel, category, templates = [] } = certificate
    const hasCategory =
      category !== undefined || templates.some((template) => template.category !== undefined)
    if (notifyLevel !== undefined && !hasCategory)
      fields.note('notify_level', 'needs category, since only such messages have a level')
    return {
      appKey: fields.required('app_key'),
      masterSecret: fields.required('app_secret', 'the MasterSecret'),
    }
  })
}
