import type { KeyObject } from 'node:crypto'
import type { GatewayCertificate } from '../../sender.js'
import { ServiceAccount } from '../content/account.js'
import { privateKey } from '../content/jwt.js'
import { readFields } from '../runtime/credentials.js'

/** A client secret, or the key of a service account. */
export interface VendorHCredentials {
  /** Path of the send call. */
  readonly sendPath: string
  readonly proof: ClientSecret | AccountKey
}

export interface ClientSecret {
  readonly kind: 'secret'
  readonly clientId: string
  readonly secret: string
}

export interface AccountKey {
  readonly kind: 'account'
  readonly subAccount: string
  readonly keyId: string
  readonly key: KeyObject
}

/** @throws CredentialError */
export function readVendorHCredentials(certificate: GatewayCertificate): VendorHCredentials {
  return readFields(certificate, (fields) => {
    const text = certificate.certificate.trim()
    const account = text === '' ? null : new ServiceAccount(text, fields)
    const projectId = certificate.appKey || account?.optional('project_id') || ''
    const clientId =
      account === null || projectId === '' ? fields.required('app_id', 'the client ID') : ''
    return {
      sendPath:
        projectId === ''
          ? `/v1/${encodeURIComponent(clientId)}/messages:send`
          : `/v2/${encodeURIComponent(projectId)}/messages:send`,
      proof:
        account === null
          ? { kind: 'secret', clientId, secret: fields.required('app_secret', 'the client secret') }
          : accountKey(account),
    }
  })
}

function accountKey(account: ServiceAccount): AccountKey {
  return {
    kind: 'account',
    subAccount: account.required('sub_account'),
    keyId: account.required('key_id'),
    key: privateKey(account.optional('private_key'), 'rsa'),
  }
}
