import { macOf } from '../../../lib/secrets/tokens.js'
import type { User } from '../../users/user-model.js'

/** The credentials with which native clients read files, instead of the access token. */
export interface FileCredentials {
  /**
   * `hms_`, the user ID, and the serial number of the device if the login has one, in base 36; a
   * MAC. Points separate the parts.
   */
  readonly storeToken: string
  /** The key of {@link fileSignature}; clients never send it. */
  readonly accessKeySecret: string
}

/** The signed parts of a request for a file. */
export interface SignedRequest {
  readonly method: string
  /** The path and the parts of the query that the signature covers. */
  readonly target: string
  /** The expiry of the signature, in milliseconds since 1970. */
  readonly expiresAt: number
}

/** The device of a login, with its part in the credentials. */
export interface CredentialDevice {
  readonly deviceSn: number
  readonly credentialEpoch: number
}

/**
 * Derives the credentials: the same for every login of a user on one device until the epoch of the
 * user or of the device is raised.
 * @param device null for logins without a device
 */
export function fileCredentials(
  key: Buffer,
  user: Pick<User, 'appId' | 'userId' | 'credentialEpoch'>,
  device: CredentialDevice | null,
): FileCredentials {
  const inputs = [user.appId, user.userId, user.credentialEpoch]
  if (device) inputs.push(device.deviceSn, device.credentialEpoch)
  const derive = (purpose: string) => macOf(key, [purpose, ...inputs].join('\n'))
  const holder = [user.userId, ...(device ? [device.deviceSn] : [])].map((id) => id.toString(36))
  return {
    storeToken: `hms_${holder.join('.')}.${derive('store_token')}`,
    accessKeySecret: derive('access_key_secret'),
  }
}

/** The holder that a store token names. */
export interface ClaimedHolder {
  readonly userId: number
  /** null for a login without a device. */
  readonly deviceSn: number | null
}

const maxDeviceSn = 2 ** 31 - 1

/** @returns null when the text does not have the form of a store token */
export function claimedHolder(storeToken: string): ClaimedHolder | null {
  const parts = /^hms_([0-9a-z]{1,11})(?:\.([0-9a-z]{1,6}))?\.[\w-]{43}$/.exec(storeToken)
  if (!parts) return null
  const [userId, deviceSn] = [parts[1], parts[2]].map((part) => Number.parseInt(part ?? '0', 36))
  if (!Number.isSafeInteger(userId) || (deviceSn ?? 0) > maxDeviceSn) return null
  return { userId: userId ?? 0, deviceSn: parts[2] === undefined ? null : (deviceSn ?? 0) }
}

/**
 * Returns the value of sdk_sign: the expiry in milliseconds, a point, and a MAC under the
 * access_key_secret.
 */
export function fileSignature(
  accessKeySecret: string,
  { method, target, expiresAt }: SignedRequest,
): string {
  return `${expiresAt}.${macOf(accessKeySecret, `${method}\n${target}\n${expiresAt}`)}`
}

/** @returns the expiry in a signature, or null when it has not the form of one */
export function claimedExpiry(signature: string): number | null {
  const expiresAt = Number(/^(\d{1,15})\.[\w-]{43}$/.exec(signature)?.[1] ?? Number.NaN)
  return Number.isNaN(expiresAt) ? null : expiresAt
}
