/** Client certificates of apps in .p12 files. */
import type { X509Certificate } from 'node:crypto'
import { Duplex } from 'node:stream'
import { createSecureContext, type SecureContext, TLSSocket } from 'node:tls'
import { badCertificate, CredentialError } from '../runtime/credentials.js'

/**
 * Opens a .p12 file.
 *
 * @param base64 the file
 * @param topic the bundle ID that the certificate is to be for
 * @throws CredentialError
 */
export function readClientFile(base64: string, passphrase: string, topic: string) {
  if (base64.trim() === '')
    throw badCertificate('is missing: the .p8 text or a .p12 file as base64')
  const pfx = Buffer.from(base64, 'base64')
  const certificate = certificateOf(openFile(pfx, passphrase))
  if (certificate === null) throw badCertificate('has no certificate in its .p12 file')
  const uid = /^UID=(.+)$/m.exec(certificate.subject)?.[1]
  if (uid !== undefined && topic !== '' && uid !== topic && !uid.startsWith(`${topic}.`))
    throw new CredentialError([{ field: 'app_id', text: `must be ${uid}, as in the certificate` }])
  return { pfx, passphrase, expiresAt: Date.parse(certificate.validTo) }
}

function openFile(pfx: Buffer, passphrase: string): SecureContext {
  try {
    return createSecureContext({ pfx, passphrase })
  } catch (error) {
    const { message } = error as Error
    // OpenSSL 3 names the old RC2 and 3DES forms unsupported.
    const hint = /unsupported/i.test(message)
      ? '; export it again with AES encryption'
      : '; is it a .p12 file as base64, and app_secret its passphrase?'
    throw badCertificate(`cannot be opened as a .p12 file (${message})${hint}`)
  }
}

/** The certificate that a connection would show. */
function certificateOf(secureContext: SecureContext): X509Certificate | null {
  const socket = new TLSSocket(new Duplex({ read() {} }), { secureContext, isServer: true })
  try {
    return socket.getX509Certificate() ?? null
  } finally {
    socket.destroy()
  }
}
