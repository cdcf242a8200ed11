import { macOf } from '../../../lib/secrets/tokens.js'
import type { User } from '../../users/user-model.js'

/** What native clients reach files with, instead of the access token. */
export interface FileCredentials {
  /** `hms_`, the user ID in base 36, a point, a MAC; tells whose it is. */
  readonly storeToken: string
  /** Never sent again: the key of {@link fileSignature}. */
  readonly accessKeySecret: string
}

/** A request for a file as it is signed. */
export interface SignedRequest {
  readonly method: string
  /** The path and those parts of the query that the signature is to cover. */
  readonly target: string
  /** When the signature ends, milliseconds since 1970. */
  readonly expiresAt: number
}

/** Derived, not stored: the same for every login of a user until the user's credential epoch is raised. */
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

/** @returns whose store token it claims to be, or null when it has not the form of one */
export function claimedUserId(storeToken: string): number | null {
  const userId = Number.parseInt(
    /^hms_([0-9a-z]{1,11})\.[\w-]{43}$/.exec(storeToken)?.[1] ?? '',
    36,
  )
  return Number.isSafeInteger(userId) ? userId : null
}

/** What a client sends as sdk_sign: the end of the signature in milliseconds, a point, and a MAC under the access_key_secret. */
export function fileSignature(
  accessKeySecret: string,
  { method, target, expiresAt }: SignedRequest,
): string {
  return `${expiresAt}.${macOf(accessKeySecret, `${method}\n${target}\n${expiresAt}`)}`
}

/** @returns when a signature says that it ends, or null when it has not the form of one */
export function claimedExpiry(signature: string): number | null {
  const expiresAt = Number(/^(\d{1,15})\.[\w-]{43}$/.exec(signature)?.[1] ?? Number.NaN)
  return Number.isNaN(expiresAt) ? null : expiresAt
}
