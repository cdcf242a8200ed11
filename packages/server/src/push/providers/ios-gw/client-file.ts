/** Client certificates of apps in .p12 files. */
import type { X509Certificate } from 'node:crypto'
import { Duplex } from 'node:stream'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { badCertificate } from '../runtime/credentials.js'

/** A client certificate with its key. */
export interface ClientFile {
  readonly pfx: Buffer
  readonly passphrase: string
  /** UID of its subject: a bundle ID, or the topic of its calls; "" without one. */
  readonly uid: string
  /** Milliseconds since 1970. */
  readonly expiresAt: number
}

/**
 * Opens a .p12 file.
 *
 * @param base64 the file
 * @throws CredentialError
 */
export function readClientFile(base64: string, passphrase: string): ClientFile {
  if (base64.trim() === '')
    throw badCertificate('is missing: the .p8 text or a .p12 file as base64')
  const pfx = Buffer.from(base64, 'base64')
  const certificate = certificateOf(openFile(pfx, passphrase))
  if (certificate === null) throw badCertificate('has no certificate in its .p12 file')
  const uid = /^UID=(.+)$/m.exec(certificate.subject)?.[1] ?? ''
  return { pfx, passphrase, uid, expiresAt: Date.parse(certificate.validTo) }
}

function openFile(pfx: Buffer, passphrase: string): SecureContext {
  try {
    return createSecureContext({ pfx, passphrase })
  } catch (error) {
    const { message } = error as Error
    // OpenSSL 3 reports the old RC2 and 3DES forms as unsupported.
    const hint = /unsupported/i.test(message)
      ? '; export it again with AES encryption'
      : '; is it a .p12 file as base64, and app_secret its passphrase?'
    throw badCertificate(`cannot be opened as a .p12 file (${message})${hint}`)
  }
}

/** Returns the certificate that a connection would present. */
function certificateOf(secureContext: SecureContext): X509Certificate | null {
  const socket = new TLSSocket(new Duplex({ read() {} }), { secureContext, isServer: true })
  try {
    return socket.getX509Certificate() ?? null
  } finally {
    socket.destroy()
  }
}
