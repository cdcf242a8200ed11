import type { KeyObject } from 'node:crypto'
import { createSecureContext } from 'node:tls'
import type { GatewayCertificate } from '../../sender.js'
import { privateKey } from '../content/jwt.js'
import { CredentialError, required } from '../runtime/protocol.js'

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
}

/** @throws CredentialError */
export function readIosCredentials(certificate: GatewayCertificate): IosCredentials {
  const topic = required(certificate.appId, 'app_id: the bundle ID of the app')
  const text = required(
    certificate.certificate,
    'certificate: the .p8 text or a .p12 file as base64',
  )
  if (!text.includes('PRIVATE KEY'))
    return { kind: 'certificate', topic, ...readPfx(text, certificate.appSecret) }
  return {
    kind: 'token',
    topic,
    keyId: required(certificate.appKey, 'app_key: the ID of the key'),
    teamId: required(certificate.appSecret, 'app_secret: the ID of the team'),
    key: privateKey(text, 'ec'),
  }
}

function readPfx(base64: string, passphrase: string) {
  const pfx = Buffer.from(base64, 'base64')
  try {
    createSecureContext({ pfx, passphrase })
  } catch (error) {
    // OpenSSL 3 names the old RC2 and 3DES forms unsupported.
    const hint = /unsupported/i.test((error as Error).message)
      ? '; export it again with AES encryption'
      : '; is app_secret its passphrase?'
    throw new CredentialError(`the .p12 file cannot be opened (${(error as Error).message})${hint}`)
  }
  return { pfx, passphrase }
}
