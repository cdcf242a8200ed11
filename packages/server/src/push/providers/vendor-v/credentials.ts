import type { GatewayCertificate } from '../../certificate.js'
import { readFields } from '../runtime/credentials.js'

export interface VendorVCredentials {
  readonly appId: number
  readonly appKey: string
  readonly secret: string
}

/** @throws CredentialError */
export function readVendorVCredentials(certificate: GatewayCertificate): VendorVCredentials {
  return readFields(certificate, (fields) => {
    const appId = fields.required('gateway_app_id', 'a number')
    if (appId !== '' && !Number.isSafeInteger(Number(appId)))
      fields.note('gateway_app_id', 'must be a number')
    return {
      appId: Number(appId),
      appKey: fields.required('app_key'),
      secret: fields.required('app_secret'),
    }
  })
}
