import type { KeyObject } from 'node:crypto'
import type { GatewayCertificate } from '../../certificate.js'
import { ServiceAccount } from '../content/account.js'
import { privateKey } from '../content/jwt.js'
import { readFields } from '../runtime/credentials.js'

export interface CloudCredentials {
  readonly projectId: string
  readonly clientEmail: string
  readonly keyId: string
  readonly key: KeyObject
  readonly tokenUrl: string
}

/** @throws CredentialError */
export function readCloudCredentials(certificate: GatewayCertificate): CloudCredentials {
  return readFields(certificate, (fields) => {
    const account = new ServiceAccount(certificate.certificate, fields)
    return {
      projectId: certificate.appId || account.required('project_id'),
      clientEmail: account.required('client_email'),
      keyId: account.required('private_key_id'),
      tokenUrl: certificate.endpoint?.authUrl ?? account.required('token_uri'),
      key: privateKey(account.optional('private_key'), 'rsa'),
    }
  })
}
