import type { KeyObject } from 'node:crypto'
import type { GatewayCertificate } from '../../sender.js'
import { privateKey } from '../content/jwt.js'
import { type FieldReader, readFields } from '../runtime/credentials.js'
import { readClientFile } from './client-file.js'

/** A signing key, or a client certificate. */
export type IosCredentials = TokenCredentials | CertificateCredentials

export interface TokenCredentials {
  readonly kind: 'token'
  readonly topic: string
  readonly keyId: string
  readonly teamId: string
  readonly key: KeyObject
}

export interface CertificateCredentials {
  readonly kind: 'certificate'
  readonly topic: string
  readonly pfx: Buffer
  readonly passphrase: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/** @throws CredentialError */
export function readIosCredentials(certificate: GatewayCertificate): IosCredentials {
  return readFields(certificate, (fields) => {
    const topic = fields.required('app_id', 'the bundle ID of the app')
    const { certificate: text, appSecret } = certificate
    return text.includes('PRIVATE KEY')
      ? readKey(text, topic, fields)
      : { kind: 'certificate', topic, ...readClientFile(text, appSecret, topic) }
  })
}

function readKey(text: string, topic: string, fields: FieldReader): TokenCredentials {
  return {
    kind: 'token',
    topic,
    keyId: fields.required('app_key', 'the ID of the key'),
    teamId: fields.required('app_secret', 'the ID of the team'),
    key: privateKey(text, 'ec'),
  }
}
