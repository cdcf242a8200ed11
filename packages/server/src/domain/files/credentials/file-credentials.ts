import { macOf } from '../../../lib/secrets/tokens.js'
import type { User } from '../../users/user-model.js'

/** The credentials with which native clients read files, instead of the access token. */
export interface FileCredentials {
  /** `hms_`, the user ID in base 36, a point, a MAC. */
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

/** Derives the credentials: the same for every login of a user until the user's credential epoch is raised. */
export function fileCredentials(
  key: Buffer,
  user: Pick<User, 'appId' | 'userId' | 'credentialEpoch'>,
): FileCredentials {
  const derive = (purpose: string) =>
    macOf(key, `${purpose}\n${user.appId}\n${user.userId}\n${user.credentialEpoch}`)
  return {
    storeToken: `hms_${user.userId.toString(36)}.${derive('store_token')}`,
    accessKeySecret: derive('access_key_secret'),
  }
}

/** @returns the user ID in a store token, or null when it has not the form of one */
export function claimedUserId(storeToken: string): number | null {
  const userId = Number.parseInt(
    /^hms_([0-9a-z]{1,11})\.[\w-]{43}$/.exec(storeToken)?.[1] ?? '',
    36,
  )
  return Number.isSafeInteger(userId) ? userId : null
}

/** Returns the value of sdk_sign: the expiry in milliseconds, a point, and a MAC under the access_key_secret. */
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
