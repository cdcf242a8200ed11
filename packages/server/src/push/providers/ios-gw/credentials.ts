import type { KeyObject } from 'node:crypto'
import type { CertificateInspection, GatewayCertificate } from '../../sender.js'
import { privateKey } from '../content/jwt.js'
import { type FieldReader, readFields } from '../runtime/credentials.js'
import { type ClientFile, readClientFile } from './client-file.js'

/** A signing key, or a client certificate. */
export type IosCredentials = TokenCredentials | CertificateCredentials

export interface TokenCredentials {
  readonly kind: 'token'
  readonly topic: string
  readonly keyId: string
  readonly teamId: string
  readonly key: KeyObject
}

export interface CertificateCredentials extends ClientFile {
  readonly kind: 'certificate'
  readonly topic: string
}

/** @throws CredentialError */
export function readIosCredentials(certificate: GatewayCertificate): IosCredentials {
  return readFields(certificate, (fields) => {
    const topic = fields.required('app_id', 'the bundle ID of the app')
    const { certificate: text, appSecret } = certificate
    return text.includes('PRIVATE KEY')
      ? readKey(text, topic, fields)
      : { kind: 'certificate', topic, ...readClientFile(text, appSecret) }
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

/** Inspects readable credentials. A signing key serves every app of its team and never expires. */
export function inspectIosCredentials(credentials: IosCredentials): CertificateInspection {
  if (credentials.kind === 'token') return { faults: [], expiresAt: null }
  const { topic, bundleId, expiresAt } = credentials
  const text = `must be ${bundleId}, as in the certificate`
  return { faults: isSameApp(topic, bundleId) ? [] : [{ field: 'app_id', text }], expiresAt }
}

/** Topics such as that of VoIP have one more part than the bundle ID. */
function isSameApp(topic: string, bundleId: string): boolean {
  return (
    bundleId === '' || `${topic}.`.startsWith(`${bundleId}.`) || bundleId.startsWith(`${topic}.`)
  )
}
