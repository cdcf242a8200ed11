import type { KeyObject } from 'node:crypto'
import { scalarText } from '../../../lib/json.js'
import type { GatewayCertificate } from '../../sender.js'
import { jsonObject } from '../content/answers.js'
import { privateKey } from '../content/jwt.js'
import { required } from '../runtime/protocol.js'

export interface CloudCredentials {
  readonly projectId: string
  readonly clientEmail: string
  readonly keyId: string
  readonly key: KeyObject
  readonly tokenUrl: string
}

/** @throws CredentialError */
export function readCloudCredentials(certificate: GatewayCertificate): CloudCredentials {
  const text = required(certificate.certificate, 'certificate: the JSON of the service account')
  const account = jsonObject(text)
  const field = (name: string) =>
    required(scalarText(account[name]), `${name} in its service account`)
  return {
    projectId: certificate.appId || field('project_id'),
    clientEmail: field('client_email'),
    keyId: field('private_key_id'),
    key: privateKey(field('private_key'), 'rsa'),
    tokenUrl: certificate.endpoint?.authUrl ?? field('token_uri'),
  }
}
