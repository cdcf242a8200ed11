/** Certificates generated on demand, without a system program. */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import forge from 'node-forge'

/** Subject attribute with the bundle ID. */
const uidAttribute = '0.9.2342.19200300.100.1.1'
const rsaBits = 2048
const dayMs = 24 * 3_600_000

export interface KeyAndCertificate {
  /** PEM. */
  readonly key: string
  /** PEM. */
  readonly cert: string
}

/** A private authority, trusted only by explicit configuration. */
export class TestAuthority {
  readonly #own: KeyAndCertificate
  #server: KeyAndCertificate | undefined

  constructor() {
    const subject = [{ name: 'commonName', value: 'Hermod simulated gateways' }]
    this.#own = issueCertificate({ subject, extensions: [{ name: 'basicConstraints', cA: true }] })
  }

  /** The certificate of the authority, in PEM. */
  get ca(): string {
    return this.#own.cert
  }

  /**
   * Certificate for servers on the loopback addresses, issued on first use: a key takes most of the
   * start of a gateway.
   */
  server(): KeyAndCertificate {
    const altNames = [
      { type: 2, value: 'localhost' },
      { type: 7, ip: '127.0.0.1' },
    ]
    this.#server ??= issueCertificate({
      subject: [{ name: 'commonName', value: 'localhost' }],
      extensions: [{ name: 'subjectAltName', altNames }],
      issuer: this.#own,
    })
    return this.#server
  }

  /** Issues a client certificate for the app, as a .p12 file in base64. */
  clientFile(bundleId: string, passphrase: string): string {
    const subject = [
      { name: 'commonName', value: bundleId },
      { type: uidAttribute, value: bundleId },
    ]
    const { key, cert } = issueCertificate({ subject, extensions: [], issuer: this.#own })
    const file = forge.pkcs12.toPkcs12Asn1(
      forge.pki.privateKeyFromPem(key),
      [forge.pki.certificateFromPem(cert)],
      passphrase,
      { algorithm: 'aes256' },
    )
    return Buffer.from(forge.asn1.toDer(file).getBytes(), 'binary').toString('base64')
  }
}

interface Issue {
  readonly subject: forge.pki.CertificateField[]
  readonly extensions: Record<string, unknown>[]
  /** Omitted: self-signed. */
  readonly issuer?: KeyAndCertificate
}

function issueCertificate({ subject, extensions, issuer }: Issue): KeyAndCertificate {
  // Node generates keys many times faster.
  const { privateKey } = generateKeyPairSync('rsa', {
    modulusLength: rsaBits,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'pkcs1', format: 'pem' },
  })
  const key = forge.pki.privateKeyFromPem(privateKey)
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = forge.pki.setRsaPublicKey(key.n, key.e)
  // The first byte makes it positive, as serial numbers are.
  certificate.serialNumber = `5a${randomBytes(15).toString('hex')}`
  certificate.validity.notBefore = new Date(Date.now() - dayMs)
  certificate.validity.notAfter = new Date(Date.now() + 30 * dayMs)
  certificate.setSubject(subject)
  certificate.setIssuer(
    issuer ? forge.pki.certificateFromPem(issuer.cert).subject.attributes : subject,
  )
  certificate.setExtensions(extensions)
  const signingKey = issuer ? forge.pki.privateKeyFromPem(issuer.key) : key
  certificate.sign(signingKey, forge.md.sha256.create())
  return { key: privateKey, cert: forge.pki.certificateToPem(certificate) }
}
