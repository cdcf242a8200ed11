import type { KeyObject } from 'node:crypto'
import type { GatewayCertificate } from '../../certificate.js'
import { ServiceAccount } from '../content/account.js'
import { privateKey } from '../content/jwt.js'
import { badCertificate, type FieldReader, readFields } from '../runtime/credentials.js'

export interface VendorHCredentials {
  readonly apiVersion: 1 | 2 | 3
  /** Path of the send call. */
  readonly sendPath: string
  /** A client secret, or the key of a service account. Version 3 takes the key only. */
  readonly proof: ClientSecret | AccountKey
}

interface ClientSecret {
  readonly kind: 'secret'
  readonly clientId: string
  readonly secret: string
}

interface AccountKey {
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
    if (certificate.apiVersion === 3) return thirdVersion(fields, account, projectId)
    const clientId =
      account === null || projectId === '' ? fields.required('gateway_app_id', 'the client ID') : ''
    const proof =
      account === null
        ? {
            kind: 'secret' as const,
            clientId,
            secret: fields.required('app_secret', 'the client secret'),
          }
        : accountKey(account)
    return projectId === ''
      ? { apiVersion: 1, sendPath: sendPath(1, clientId), proof }
      : { apiVersion: 2, sendPath: sendPath(2, projectId), proof }
  })
}

function thirdVersion(
  fields: FieldReader,
  account: ServiceAccount | null,
  projectId: string,
): VendorHCredentials {
  if (account === null)
    throw badCertificate('is missing: api_version 3 needs the JSON file of a service account')
  if (projectId === '')
    fields.note('app_key', 'is missing: api_version 3 needs the project ID, here or in the file')
  return { apiVersion: 3, sendPath: sendPath(3, projectId), proof: accountKey(account) }
}

/** @param id of the client in version 1, of the project in the others */
function sendPath(version: number, id: string): string {
  return `/v${version}/${encodeURIComponent(id)}/messages:send`
}

function accountKey(account: ServiceAccount): AccountKey {
  return {
    kind: 'account',
    subAccount: account.required('sub_account'),
    keyId: account.required('key_id'),
    key: privateKey(account.optional('private_key'), 'rsa'),
  }
}
