import type { KeyObject } from 'node:crypto'
import { scalarText } from '../../../lib/json.js'
import type { GatewayCertificate } from '../../sender.js'
import { jsonObject } from '../content/answers.js'
import { privateKey } from '../content/jwt.js'
import { required } from '../runtime/protocol.js'

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
  const account = certificate.certificate.trim() === '' ? null : jsonObject(certificate.certificate)
  const projectId = certificate.appKey || scalarText(account?.project_id)
  const sendPath =
    projectId === ''
      ? `/v1/${encodeURIComponent(required(certificate.appId, 'app_id'))}/messages:send`
      : `/v2/${encodeURIComponent(projectId)}/messages:send`
  if (account === null) return { sendPath, proof: readSecret(certificate) }
  const field = (name: string) =>
    required(scalarText(account[name]), `${name} in its service account`)
  return {
    sendPath,
    proof: {
      kind: 'account',
      subAccount: field('sub_account'),
      keyId: field('key_id'),
      key: privateKey(field('private_key'), 'rsa'),
    },
  }
}

function readSecret(certificate: GatewayCertificate): ClientSecret {
  return {
    kind: 'secret',
    clientId: required(certificate.appId, 'app_id: the client ID'),
    secret: required(certificate.appSecret, 'app_secret: the client secret'),
  }
}
