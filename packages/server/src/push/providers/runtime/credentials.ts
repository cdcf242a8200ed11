/** Reads the fields of certificates and reports all faults together. */
import type { CertificateFault, CertificateField, GatewayCertificate } from '../../certificate.js'

/** The certificate cannot be used. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'

  constructor(readonly faults: readonly CertificateFault[]) {
    super(faults.map(({ field, text }) => `${field} ${text}`).join('; '))
  }
}

const values = {
  gateway_app_id: 'appId',
  app_key: 'appKey',
  app_secret: 'appSecret',
  certificate: 'certificate',
  package_name: 'packageName',
} as const satisfies Partial<Record<CertificateField, keyof GatewayCertificate>>

/** Records the faults of fields while they are read. */
export class FieldReader {
  readonly faults: CertificateFault[] = []

  constructor(private readonly certificate: GatewayCertificate) {}

  note(field: CertificateField, text: string): void {
    this.faults.push({ field, text })
  }

  /**
   * Returns a field that the channel requires. Its value may be used in a header.
   *
   * @param meaning meaning of the field on this channel
   */
  required(field: Exclude<keyof typeof values, 'certificate'>, meaning?: string): string {
    const value = (this.certificate[values[field]] ?? '').trim()
    if (value === '')
      this.note(field, meaning === undefined ? 'is missing' : `is missing: ${meaning}`)
    if (!/^[\x20-\x7e]*$/.test(value)) this.note(field, 'must be printable ASCII text')
    return value
  }
}

/**
 * Reads credentials from the fields of a certificate.
 *
 * @param read may throw CredentialError when it cannot continue
 * @throws CredentialError with all recorded faults
 */
export function readFields<T>(
  certificate: GatewayCertificate,
  read: (fields: FieldReader) => T,
): T {
  const fields = new FieldReader(certificate)
  try {
    const credentials = read(fields)
    if (fields.faults.length === 0) return credentials
  } catch (error) {
    if (!(error instanceof CredentialError)) throw error
    fields.faults.push(...error.faults)
  }
  throw new CredentialError(fields.faults)
}

/** Returns the error of a certificate that cannot be read any further. */
export function badCertificate(text: string): CredentialError {
  return new CredentialError([{ field: 'certificate', text }])
}
