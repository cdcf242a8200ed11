import type { KeyObject } from 'node:crypto'
import type {
  CertificateFault,
  CertificateInspection,
  GatewayCertificate,
} from '../../certificate.js'
import type { ApnsPushType } from '../../notification.js'
import { privateKey } from '../content/jwt.js'
import { type FieldReader, readFields } from '../runtime/credentials.js'
import { type ClientFile, readClientFile } from './client-file.js'

/** Suffixes of topics: "Know when to use push types" in "Sending notification requests to APNs". */
const suffixes: Readonly<Record<ApnsPushType, string>> = {
  alert: '',
  voip: '.voip',
  liveactivity: '.push-type.liveactivity',
}

/** Suffixes of push types that the service does not send. */
const otherSuffixes = [
  '.voip-ptt',
  '.complication',
  '.location-query',
  '.pushkit.fileprovider',
  '.push-type.widgets',
  '.push-type.controls',
]

/** A signing key, or a client certificate. */
export type IosCredentials = TokenCredentials | CertificateCredentials

/** The app, and the pushes that the tokens of its devices are for. */
interface Addressee {
  readonly bundleId: string
  readonly pushType: ApnsPushType
}

interface TokenCredentials extends Addressee {
  readonly kind: 'token'
  readonly keyId: string
  readonly teamId: string
  readonly key: KeyObject
}

interface CertificateCredentials extends Addressee {
  readonly kind: 'certificate'
  readonly file: ClientFile
}

/** @throws CredentialError */
export function readIosCredentials(certificate: GatewayCertificate): IosCredentials {
  return readFields(certificate, (fields) => {
    const bundleId = fields.required('gateway_app_id', 'the bundle ID of the app')
    const fault = bundleIdFault(bundleId)
    if (fault !== null) fields.note('gateway_app_id', fault)
    const { certificate: text, appSecret, pushType: tokenType = 'alert' } = certificate
    // The tokens differ, the pushes do not.
    const pushType = tokenType === 'liveactivity_start' ? 'liveactivity' : tokenType
    const addressee = { bundleId, pushType }
    return text.includes('PRIVATE KEY')
      ? { kind: 'token', ...addressee, ...readKey(text, fields) }
      : { kind: 'certificate', ...addressee, file: readClientFile(text, appSecret) }
  })
}

/**
 * Returns why a text is a topic and no bundle ID; continues after the name of the field. Null: it
 * may be one.
 */
function bundleIdFault(text: string): string | null {
  for (const [pushType, suffix] of Object.entries(suffixes))
    if (suffix !== '' && text.endsWith(suffix))
      return `must be the bundle ID ${text.slice(0, -suffix.length)}; instead of the suffix ${suffix}, set push_type to ${pushType}`
  const other = otherSuffixes.find((suffix) => text.endsWith(suffix))
  return other === undefined
    ? null
    : `must be the bundle ID of the app; pushes to topics with the suffix ${other} are not supported`
}

/** Returns the topic of pushes with the credentials. */
export function iosTopic({ bundleId, pushType }: IosCredentials): string {
  return bundleId + suffixes[pushType]
}

function readKey(text: string, fields: FieldReader) {
  return {
    keyId: fields.required('app_key', 'the ID of the key'),
    teamId: fields.required('app_secret', 'the ID of the team'),
    key: privateKey(text, 'ec'),
  }
}

/** Inspects readable credentials. A signing key serves every app of its team and never expires. */
export function inspectIosCredentials(credentials: IosCredentials): CertificateInspection {
  if (credentials.kind === 'token') return { faults: [], expiresAt: null }
  const { file, bundleId, pushType } = credentials
  return { faults: fileFaults(file, bundleId, pushType), expiresAt: file.expiresAt }
}

/**
 * Faults of a file for an app and a push type. The file of an app serves calls too; that of VoIP
 * services serves only calls, and names the topic of calls. Live activities need a signing key.
 */
function fileFaults(
  { uid }: ClientFile,
  bundleId: string,
  pushType: ApnsPushType,
): CertificateFault[] {
  if (pushType === 'liveactivity')
    return [{ field: 'certificate', text: 'must be a signing key (.p8) for live activities' }]
  const isOfCalls = uid.endsWith(suffixes.voip)
  const expected = isOfCalls ? uid.slice(0, -suffixes.voip.length) : uid
  const faults: CertificateFault[] = []
  if (uid !== '' && expected !== bundleId)
    faults.push({ field: 'gateway_app_id', text: `must be ${expected}, as in the certificate` })
  if (isOfCalls && pushType !== 'voip')
    faults.push({
      field: 'certificate',
      text: 'is a file of VoIP services, which needs push_type voip',
    })
  return faults
}
